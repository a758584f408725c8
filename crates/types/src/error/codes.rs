//! Numbers and SQLSTATEs.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $state:literal;)*) => {
        /// The error numbers Muster raises (MySQL Error Message Reference).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* $name = $number,)* }

        impl ErrorCode {
            pub fn number(self) -> u16 { self as u16 }

            /// Five characters.
            pub fn sqlstate(self) -> &'static str {
                match self { $(ErrorCode::$name => $state,)* }
            }
        }
    };
}

codes! {
    Yes = 1003, "HY000";
    CantLock = 1015, "HY000";
    DiskFull = 1021, "HY000";
    IllegalHa = 1031, "HY000";
    TooManyConnections = 1040, "08004";
    OutOfMemory = 1041, "HY000";
    DbCreateExists = 1007, "HY000";
    DbDropExists = 1008, "HY000";
    HandshakeError = 1043, "08S01";
    DbAccessDenied = 1044, "42000";
    AccessDenied = 1045, "28000";
    NoDb = 1046, "3D000";
    UnknownCommand = 1047, "08S01";
    BadNull = 1048, "23000";
    BadDb = 1049, "42000";
    TableExists = 1050, "42S01";
    BadTable = 1051, "42S02";
    NonUniq = 1052, "23000";
    ServerShutdown = 1053, "08S01";
    BadField = 1054, "42S22";
    WrongFieldWithGroup = 1055, "42000";
    WrongGroupField = 1056, "42000";
    TooLongIdent = 1059, "42000";
    DupFieldName = 1060, "42S21";
    DupKeyName = 1061, "42000";
    DupEntry = 1062, "23000";
    WrongFieldSpec = 1063, "42000";
    Parse = 1064, "42000";
    EmptyQuery = 1065, "42000";
    NonUniqTable = 1066, "42000";
    InvalidDefault = 1067, "42000";
    MultiplePriKey = 1068, "42000";
    TooManyKeys = 1069, "42000";
    TooManyKeyParts = 1070, "42000";
    TooLongKey = 1071, "42000";
    KeyColumnDoesNotExist = 1072, "42000";
    TooBigFieldLength = 1074, "42000";
    WrongAutoKey = 1075, "42000";
    FileExists = 1086, "HY000";
    FileNotFound = 29, "HY000";
    CantCreateFile = 1, "HY000";
    CantDropFieldOrKey = 1091, "42000";
    UpdateTableUsed = 1093, "HY000";
    NoSuchThread = 1094, "HY000";
    KillDenied = 1095, "HY000";
    NoTablesUsed = 1096, "HY000";
    WrongFieldTerminators = 1083, "42000";
    CantReopenTable = 1137, "HY000";
    ViewSelectTemporary = 1352, "HY000";
    TemporaryCreationNotRolledBack = 1751, "HY000";
    TemporaryDropNotRolledBack = 1752, "HY000";
    BlobCantHaveDefault = 1101, "42000";
    TooManyTables = 1116, "HY000";
    ViewSelectVariable = 1351, "HY000";
    KeyPartZero = 1391, "HY000";
    ViewInvalid = 1356, "HY000";
    FieldInOrderNotSelect = 3065, "HY000";
    AggregateInOrderNotSelect = 3066, "HY000";
    AggregateOrderForUnion = 3028, "HY000";
    AggregateOrderNonAggQuery = 3029, "HY000";
    WrongDbName = 1102, "42000";
    WrongTableName = 1103, "42000";
    Unknown = 1105, "HY000";
    UnknownProcedure = 1106, "42000";
    UnknownTable = 1109, "42S02";
    FieldSpecifiedTwice = 1110, "42000";
    InvalidGroupFuncUse = 1111, "HY000";
    UnknownCharacterSet = 1115, "42000";
    TooManyFields = 1117, "HY000";
    RecordFileFull = 1114, "HY000";
    TooBigRowSize = 1118, "42000";
    CannotConvertString = 3854, "HY000";
    DeprecatedSyntax = 1287, "HY000";
    DeprecatedNational = 3720, "HY000";
    DeprecatedUtf8Alias = 3719, "HY000";
    DeprecatedCollation = 3778, "HY000";
    DeprecatedWithoutReplacement = 1681, "HY000";
    WrongValueCountOnRow = 1136, "21S01";
    UpdateWithoutKeyInSafeMode = 1175, "HY000";
    MixOfGroupFuncAndFields = 1140, "42000";
    TableAccessDenied = 1142, "42000";
    NoSuchTable = 1146, "42S02";
    SyntaxError = 1149, "42000";
    NetPacketTooLarge = 1153, "08S01";
    CannotUser = 1396, "HY000";
    UnknownSystemVariable = 1193, "HY000";
    OperandColumns = 1241, "21000";
    UnknownStmtHandler = 1243, "HY000";
    SubqueryNo1Row = 1242, "21000";
    IllegalReference = 1247, "42S22";
    DerivedMustHaveAlias = 1248, "42000";
    NotSupportedAuthMode = 1251, "08004";
    CutValueGroupConcat = 1260, "HY000";
    WarnTooFewRecords = 1261, "01000";
    WarnTooManyRecords = 1262, "01000";
    WarnNullToNotNull = 1263, "22004";
    OutOfRange = 1264, "22003";
    DataTruncated = 1265, "01000";
    CantAggregateCollations = 1267, "HY000";
    CantAggregateThreeCollations = 1270, "HY000";
    CantAggregateManyCollations = 1271, "HY000";
    UnknownCollation = 1273, "HY000";
    GlobalVariable = 1229, "HY000";
    LocalVariable = 1228, "HY000";
    WrongValueForVar = 1231, "42000";
    WrongTypeForVar = 1232, "42000";
    NotSupported = 1235, "42000";
    CantUseOptionHere = 1234, "42000";
    TableNameNotAllowedHere = 1250, "42000";
    DuplicateTableLock = 3569, "HY000";
    TableValueConstructorWithoutColumns = 3942, "HY000";
    MisplacedInto = 3954, "HY000";
    DeprecatedInnerInto = 3962, "HY000";
    IncorrectGlobalLocalVar = 1238, "HY000";
    WrongUsage = 1221, "HY000";
    WrongNumberOfColumnsInSelect = 1222, "21000";
    InvalidCharacterString = 1300, "HY000";
    AllowedPacketOverflowed = 1301, "HY000";
    InvalidArgumentForLogarithm = 3020, "2201E";
    TruncatedWrongValue = 1292, "22007";
    Unsupported = 1295, "HY000";
    UnknownStorageEngine = 1286, "42000";
    DivisionByZero = 1365, "22012";
    TruncatedWrongValueForField = 1366, "HY000";
    QueryInterrupted = 1317, "70100";
    QueryTimeout = 3024, "HY000";
    TooManyRows = 1172, "42000";
    SpFetchNoData = 1329, "02000";
    SpUndeclaredVar = 1327, "42000";
    UserLimitReached = 1226, "42000";
    SpecificAccessDenied = 1227, "42000";
    ViewWrongList = 1353, "HY000";
    ViewNonupdatableCheck = 1368, "HY000";
    ViewCheckFailed = 1369, "HY000";
    MultiUpdateKeyConflict = 1706, "HY000";
    NoDefaultForField = 1364, "HY000";
    WrongValue = 1525, "HY000";
    TooBigSet = 1097, "HY000";
    TooBigEnum = 3505, "HY000";
    DuplicatedValueInType = 1291, "HY000";
    InvalidYearColumnLength = 1818, "HY000";
    InvalidFieldSize = 3013, "HY000";
    DataTooLong = 1406, "22001";
    DatetimeFunctionOverflow = 1441, "22008";
    DeprecatedDelimiter = 4095, "HY000";
    SuperfluousDelimiter = 4096, "HY000";
    CollationCharsetMismatch = 1253, "42000";
    WrongArguments = 1210, "HY000";
    WrongValueForType = 1411, "HY000";
    UnknownLocale = 1649, "HY000";
    InvalidBitwiseOperandsSize = 3513, "HY000";
    TooBigPrecision = 1426, "42000";
    TooBigScale = 1425, "42000";
    MBiggerThanD = 1427, "42000";
    TooBigDisplayWidth = 1439, "42000";
    TooManyPlaceholders = 1390, "HY000";
    NonExistingGrant = 1141, "42000";
    NotAllowedCommand = 1148, "42000";
    WrongPrefixKey = 1089, "HY000";
    KeyDoesNotExist = 1176, "42000";
    NonGroupingFieldUsed = 1463, "42000";
    IllegalValueForType = 1367, "22007";
    DataOutOfRange = 1690, "22003";
    WrongParamCountToNativeFct = 1582, "42000";
    FunctionDoesNotExist = 1305, "42000";
    TriggerDoesNotExist = 1360, "HY000";
    EventDoesNotExist = 1539, "HY000";
    RemovedSpaces = 1466, "HY000";
    NameBecomesEmpty = 1474, "HY000";
    NoLockingOfInformationSchema = 3550, "HY000";
    SpacedFunctionDoesNotExist = 1630, "42000";
    StorageCorrupt = 1712, "HY000";
    ChangedSqlMode = 3090, "HY000";
    SqlModeMerged = 3135, "HY000";
    ConflictingHint = 3126, "HY000";
    UnknownQueryBlock = 3127, "HY000";
    UnresolvedHintName = 3128, "HY000";
    NotHintUpdatable = 3637, "HY000";
    CapacityExceeded = 3170, "HY000";
    CteMaxRecursion = 3636, "HY000";
    RegexpError = 3685, "HY000";
    RegexpIndexOutOfBounds = 3686, "HY000";
    RegexpInternal = 3687, "HY000";
    RegexpRuleSyntax = 3688, "HY000";
    RegexpBadEscapeSequence = 3689, "HY000";
    RegexpUnimplemented = 3690, "HY000";
    RegexpMismatchedParen = 3691, "HY000";
    RegexpBadInterval = 3692, "HY000";
    RegexpMaxLtMin = 3693, "HY000";
    RegexpInvalidBackRef = 3694, "HY000";
    RegexpMissingCloseBracket = 3696, "HY000";
    RegexpInvalidRange = 3697, "HY000";
    RegexpPatternTooBig = 3700, "HY000";
    RegexpInvalidCaptureGroupName = 3887, "HY000";
    UnsupportedSqlMode = 3899, "HY000";
    RegexpInvalidFlag = 3900, "HY000";
    CharacterSetMismatch = 3995, "HY000";
    RegexpNumberTooBig = 4007, "HY000";
    TooBigForUncompress = 1256, "HY000";
    ZlibBufferError = 1258, "HY000";
    ZlibDataError = 1259, "HY000";
    ReservedSyntax = 1382, "HY000";
    WrongParametersToNativeFct = 1583, "42000";
    OptionIgnored = 1618, "HY000";
    AesInvalidInitialVector = 1882, "HY000";
    UserLockWrongName = 3057, "42000";
    UserLockDeadlock = 3058, "HY000";
    KdfMethod = 3235, "HY000";
    KdfIterations = 3236, "HY000";
    AesKeySize = 3237, "HY000";
    KdfOptionSize = 3238, "HY000";
    InvalidBitwiseAggregateOperandsSize = 3514, "HY000";
    DigestParseError = 3676, "HY000";
    UndisclosedDigestParseError = 3677, "HY000";
    ReadOnly = 1290, "HY000";
    ForcedRecovery = 1881, "HY000";
    TooHighLevelOfNesting = 1473, "HY000";
    TableMustHaveColumns = 1113, "42000";
    CantRemoveAllFields = 1090, "42000";
    InvalidUseOfNull = 1138, "22004";
    UnknownAlterAlgorithm = 1800, "HY000";
    UnknownAlterLock = 1801, "HY000";
    AlterNotSupported = 1845, "0A000";
    AlterNotSupportedReason = 1846, "0A000";
    MaxRowVersions = 4092, "HY000";
    GeneratedFunctionNotAllowed = 3102, "HY000";
    GeneratedValueGiven = 3105, "HY000";
    UnsupportedOnGenerated = 3106, "HY000";
    GeneratedNonPrior = 3107, "HY000";
    DependentByGenerated = 3108, "HY000";
    GeneratedRefersAutoIncrement = 3109, "HY000";
    PrimaryKeyCantBeInvisible = 3522, "HY000";
    FunctionalIndexPrimaryKey = 3756, "HY000";
    FunctionalIndexOnLong = 3757, "HY000";
    FunctionalIndexFunctionNotAllowed = 3758, "HY000";
    FunctionalIndexOnColumn = 3762, "HY000";
    FunctionNotAllowedNamed = 3763, "HY000";
    FunctionalIndexOnAutoIncrement = 3754, "HY000";
    DefaultFunctionNotAllowed = 3770, "HY000";
    DependentByDefault = 3766, "HY000";
    DefaultNonPrior = 3767, "HY000";
    DefaultRefersAutoIncrement = 3768, "HY000";
    DefaultVariables = 3772, "HY000";
    DependentByFunctionalIndex = 3837, "HY000";
    DatabaseDoesNotExist = 3503, "HY000";
    DuplicateIndex = 1831, "HY000";
    ForbidSchemaChange = 1450, "HY000";
    CannotAddForeign = 1215, "HY000";
    NoReferencedRow = 1452, "23000";
    RowIsReferenced = 1451, "23000";
    WrongForeignKeyDefinition = 1239, "42000";
    DropIndexOfForeignKey = 1553, "HY000";
    TruncateOfParent = 1701, "42000";
    ForeignKeyDuplicate = 1761, "23000";
    ForeignKeyNoIndexInParent = 1822, "HY000";
    ForeignKeyCannotOpenParent = 1824, "HY000";
    ForeignKeyDupName = 1826, "HY000";
    ForeignKeyColumnCannotDrop = 1828, "HY000";
    ForeignKeyColumnCannotDropChild = 1829, "HY000";
    ForeignKeyColumnNotNull = 1830, "HY000";
    ForeignKeyDepthExceeded = 3008, "HY000";
    WrongForeignKeyOptionForGenerated = 3104, "HY000";
    ForeignKeyCannotDropParent = 3730, "HY000";
    ForeignKeyVirtualColumn = 3733, "HY000";
    ForeignKeyNoColumnInParent = 3734, "HY000";
    ForeignKeyIncompatibleColumns = 3780, "HY000";
    CheckUsesForeignKeyColumn = 3823, "HY000";
    CheckNotBoolean = 3812, "HY000";
    ColumnCheckReferencesOther = 3813, "HY000";
    CheckFunctionNotAllowedNamed = 3814, "HY000";
    CheckFunctionNotAllowed = 3815, "HY000";
    CheckVariables = 3816, "HY000";
    CheckRefersAutoIncrement = 3818, "HY000";
    CheckViolated = 3819, "HY000";
    CheckUnknownColumn = 3820, "HY000";
    CheckNotFound = 3821, "HY000";
    CheckDupName = 3822, "HY000";
    DependentByCheck = 3959, "HY000";
    ConstraintNotFound = 3940, "HY000";
    MultipleConstraints = 3939, "HY000";
    TableMustHaveVisibleColumn = 4028, "HY000";
    WrongColumnName = 1166, "42000";
    BlobKeyWithoutLength = 1170, "42000";
    PrimaryCantHaveNull = 1171, "42000";
    WrongNameForIndex = 1280, "42000";
    InvalidOnUpdate = 1294, "HY000";
    CantChangeTxCharacteristics = 1568, "25001";
    /// LOCK TABLES: a table that is to be written was locked to be read.
    TableNotLockedForWrite = 1099, "HY000";
    /// LOCK TABLES: a table that the session has not locked.
    TableNotLocked = 1100, "HY000";
    LockOrActiveTransaction = 1192, "HY000";
    ErrorDuringCommit = 1180, "HY000";
    ErrorDuringRollback = 1181, "HY000";
    LockWaitTimeout = 1205, "HY000";
    LockTableFull = 1206, "HY000";
    LockDeadlock = 1213, "40001";
    UnresolvedTableLock = 3568, "HY000";
    LockNowait = 3572, "HY000";
    CteRecursiveRequiresUnion = 3573, "HY000";
    CteRecursiveRequiresNonrecursiveFirst = 3574, "HY000";
    CteRecursiveForbidsAggregation = 3575, "HY000";
    CteRecursiveForbiddenJoinOrder = 3576, "HY000";
    CteRecursiveRequiresSingleReference = 3577, "HY000";
    CteRecursiveNotAllowedInExceptOrIntersect = 4114, "HY000";
    WindowNoSuchWindow = 3579, "HY000";
    WindowCircularity = 3580, "HY000";
    WindowNoChildPartitioning = 3581, "HY000";
    WindowNoInheritFrame = 3582, "HY000";
    WindowNoRedefineOrderBy = 3583, "HY000";
    WindowFrameStartIllegal = 3584, "HY000";
    WindowFrameEndIllegal = 3585, "HY000";
    WindowFrameIllegal = 3586, "HY000";
    WindowRangeFrameOrderType = 3587, "HY000";
    WindowRangeFrameTemporalType = 3588, "HY000";
    WindowRangeFrameNumericType = 3589, "HY000";
    WindowFrameNonConst = 3590, "HY000";
    WindowDuplicateName = 3591, "HY000";
    WindowIllegalOrderBy = 3592, "HY000";
    WindowInvalidFunctionUse = 3593, "HY000";
    WindowInvalidFunctionAliasUse = 3594, "HY000";
    WindowNestedInSpecification = 3595, "HY000";
    WindowRowsIntervalUse = 3596, "HY000";
    InvalidNumberOfArgs = 3601, "HY000";
    FieldInGroupingNotGroupBy = 3602, "HY000";
    CantUpdateWithReadLock = 1223, "HY000";
    ReadOnlyTransaction = 1792, "25006";
    UnknownExplainFormat = 1791, "HY000";
    ExplainNotSupported = 3012, "HY000";
    ViewNoExplain = 1345, "HY000";
    WrongObject = 1347, "HY000";
    TableDefChanged = 1412, "HY000";
    AutoincReadFailed = 1467, "HY000";
    AutoIncrementConflict = 1869, "HY000";
    WrongStringLength = 1470, "HY000";
    PasswordFormat = 1827, "HY000";
    CantCreateUserWithGrant = 1410, "42000";
    UnknownTimeZone = 1298, "HY000";
    InvalidCastToZone = 3998, "HY000";
    UsingOtherEngine = 1266, "HY000";
    UserAlreadyExists = 3163, "HY000";
    UserDoesNotExist = 3162, "HY000";
    MaxPreparedStatements = 1461, "42000";
    PluginIsNotLoaded = 1524, "HY000";
    LocalInfileDisabled = 3948, "42000";
    CantReadFile = 13, "HY000";
    TooLongComment = 1629, "HY000";
    ClientInteractionTimeout = 4031, "HY000";
    NoSuchUser = 1449, "HY000";
    VariableIsReadonly = 1621, "HY000";
    NonUpdatableTable = 1288, "HY000";
    NonUpdatableColumn = 1348, "HY000";
    ViewMultiUpdate = 1393, "HY000";
    ViewNoInsertFieldList = 1394, "HY000";
    ViewDeleteMergeView = 1395, "HY000";
    NoDefaultForViewField = 1423, "HY000";
    ViewPreventUpdate = 1443, "HY000";
    NonInsertableTable = 1471, "HY000";
    IncorrectType = 3064, "HY000";
    FunctionalIndexOnJson = 3753, "HY000";
    JsonInBooleanContext = 3986, "HY000";
    InvalidJsonText = 3140, "22032";
    InvalidJsonTextInParam = 3141, "22032";
    InvalidJsonBinaryData = 3142, "HY000";
    InvalidJsonPath = 3143, "42000";
    InvalidJsonCharset = 3144, "22032";
    InvalidTypeForJson = 3146, "22032";
    InvalidCastToJson = 3147, "22032";
    InvalidJsonPathCharset = 3148, "42000";
    InvalidJsonPathWildcard = 3149, "42000";
    JsonValueTooBig = 3150, "22032";
    JsonKeyTooBig = 3151, "22032";
    JsonUsedAsKey = 3152, "42000";
    JsonVacuousPath = 3153, "42000";
    JsonBadOneOrAll = 3154, "42000";
    NumericJsonValueOutOfRange = 3155, "22003";
    InvalidJsonValueForCast = 3156, "22018";
    JsonDocumentTooDeep = 3157, "22032";
    JsonDocumentNullKey = 3158, "22032";
    InvalidJsonPathArrayCell = 3165, "42000";
    MissingJsonTableValue = 3665, "22035";
    WrongJsonTableValue = 3666, "2203F";
    TableFunctionMustHaveAlias = 3667, "42000";
    TableFunctionForbiddenJoin = 3668, "HY000";
    JsonTableValueOutOfRange = 3669, "22003";
    JsonTableNestedPaths = 3670, "42000";
    InvalidJsonType = 3853, "22032";
    MissingJsonValue = 3966, "22035";
    MultipleJsonValues = 3967, "22034";
    PasswordNoMatch = 1133, "42000";
    ColumnAccessDenied = 1143, "42000";
    IllegalGrantForTable = 1144, "42000";
    NonExistingTableGrant = 1147, "42000";
    DuplicateArgument = 1225, "HY000";
    RevokeAllGrants = 1269, "HY000";
    MustChangePassword = 1820, "HY000";
    MustChangePasswordLogin = 1862, "HY000";
    AccountIsLocked = 3118, "HY000";
    UnknownAuthorization = 3523, "HY000";
    RoleNotGranted = 3530, "HY000";
    RenameRole = 3532, "HY000";
    IllegalPrivilegeLevel = 3619, "HY000";
    MandatoryRole = 3628, "HY000";
    CredentialsInHistory = 3638, "HY000";
    IncorrectCurrentPassword = 3891, "HY000";
    MissingCurrentPassword = 3892, "HY000";
    CurrentPasswordNotRequired = 3893, "HY000";
    DynamicPrivilegeNotRegistered = 3929, "HY000";
    AccountIsBlocked = 3955, "HY000";
    InvalidUserAttribute = 3982, "HY000";
    UserIsDefiner = 4005, "HY000";
    RoleWouldLoop = 4027, "HY000";
}

impl ErrorCode {
    /// Returns true for warnings of a value that is computed which are errors where values that do not fit are errors
    /// (MySQL: `Strict_error_handler`).
    pub fn is_refused_by_strict_modes(self) -> bool {
        use ErrorCode::*;
        matches!(
            self,
            TruncatedWrongValue
                | TruncatedWrongValueForField
                | WrongValueForType
                | DataTruncated
                | DataTooLong
                | BadNull
                | NumericJsonValueOutOfRange
                | InvalidJsonValueForCast
                | DivisionByZero
                | OutOfRange
                | CutValueGroupConcat
                | DatetimeFunctionOverflow
                | InvalidArgumentForLogarithm
                | AllowedPacketOverflowed
        )
    }
}
