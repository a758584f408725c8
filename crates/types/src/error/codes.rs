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
    FileNotFound = 29, "HY000";
    CantDropFieldOrKey = 1091, "42000";
    UpdateTableUsed = 1093, "HY000";
    NoSuchThread = 1094, "HY000";
    KillDenied = 1095, "HY000";
    NoTablesUsed = 1096, "HY000";
    WrongFieldTerminators = 1083, "42000";
    BlobCantHaveDefault = 1101, "42000";
    TooManyTables = 1116, "HY000";
    ViewSelectVariable = 1351, "HY000";
    KeyPartZero = 1391, "HY000";
    ViewInvalid = 1356, "HY000";
    FieldInOrderNotSelect = 3065, "HY000";
    AggregateInOrderNotSelect = 3066, "HY000";
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
    WrongValueCountOnRow = 1136, "21S01";
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
    UnknownCollation = 1273, "HY000";
    GlobalVariable = 1229, "HY000";
    LocalVariable = 1228, "HY000";
    WrongValueForVar = 1231, "42000";
    WrongTypeForVar = 1232, "42000";
    NotSupported = 1235, "42000";
    IncorrectGlobalLocalVar = 1238, "HY000";
    WrongUsage = 1221, "HY000";
    WrongNumberOfColumnsInSelect = 1222, "21000";
    InvalidCharacterString = 1300, "HY000";
    AllowedPacketOverflowed = 1301, "HY000";
    InvalidArgumentForLogarithm = 3020, "2201E";
    TruncatedWrongValue = 1292, "22007";
    Unsupported = 1295, "HY000";
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
    CollationCharsetMismatch = 1253, "42000";
    WrongArguments = 1210, "HY000";
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
    StorageCorrupt = 1712, "HY000";
    ConflictingHint = 3126, "HY000";
    UnknownQueryBlock = 3127, "HY000";
    UnresolvedHintName = 3128, "HY000";
    NotHintUpdatable = 3637, "HY000";
    CapacityExceeded = 3170, "HY000";
    CteMaxRecursion = 3636, "HY000";
    RegexpError = 3685, "HY000";
    ReadOnly = 1290, "HY000";
    ForcedRecovery = 1881, "HY000";
    TooHighLevelOfNesting = 1473, "HY000";
    TableMustHaveColumns = 1113, "42000";
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
    CantUpdateWithReadLock = 1223, "HY000";
    ReadOnlyTransaction = 1792, "25006";
    WrongObject = 1347, "HY000";
    TableDefChanged = 1412, "HY000";
    AutoincReadFailed = 1467, "HY000";
    WrongStringLength = 1470, "HY000";
    PasswordFormat = 1827, "HY000";
    CantCreateUserWithGrant = 1410, "42000";
    UnknownTimeZone = 1298, "HY000";
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
    NonInsertableTable = 1471, "HY000";
}
