//! Parts that a column definition may still have, with a warning (MySQL 8.0's manual 13.1.1, 13.1.6, 13.3.1).

use muster_types::ErrorCode;

/// A part of a column definition that a later MySQL will not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeprecatedPart {
    /// `INT(11)`
    DisplayWidth,
    Zerofill,
    /// UNSIGNED of a DECIMAL, FLOAT or DOUBLE.
    UnsignedFraction,
    /// `FLOAT(7,2)`
    FloatDigits,
    /// `VARCHAR(10) BINARY`
    BinaryAttribute,
    /// `NCHAR(10)`
    National,
    /// `YEAR(4)`
    YearWidth,
}

impl DeprecatedPart {
    /// The warning, 1287, 1681 or 3720, with its message.
    pub fn warning(self) -> (ErrorCode, &'static str) {
        let without_replacement = ErrorCode::DeprecatedWithoutReplacement;
        match self {
            DeprecatedPart::DisplayWidth => {
                (without_replacement, "Integer display width is deprecated and will be removed in a future release.")
            }
            DeprecatedPart::Zerofill => (
                without_replacement,
                "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD function \
                 to zero-pad numbers, or store the formatted numbers in a CHAR column.",
            ),
            DeprecatedPart::UnsignedFraction => (
                without_replacement,
                "UNSIGNED for decimal and floating point data types is deprecated and support for it will be removed \
                 in a future release.",
            ),
            DeprecatedPart::FloatDigits => (
                without_replacement,
                "Specifying number of digits for floating point data types is deprecated and will be removed in a \
                 future release.",
            ),
            DeprecatedPart::BinaryAttribute => (
                ErrorCode::DeprecatedSyntax,
                "'BINARY as attribute of a type' is deprecated and will be removed in a future release. Please use a \
                 CHARACTER SET clause with _bin collation instead",
            ),
            DeprecatedPart::National => (
                ErrorCode::DeprecatedNational,
                "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in a \
                 future release. Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous.",
            ),
            DeprecatedPart::YearWidth => (
                ErrorCode::DeprecatedSyntax,
                "'YEAR(4)' is deprecated and will be removed in a future release. Please use YEAR instead",
            ),
        }
    }
}
