//! The character sets: one line each.
//!
//! The columns are the variant; MySQL's name; its description; the default collation; the most bytes that a character
//! takes; how characters become bytes. Of MySQL 8.0.33's, `tis620` is left out, whose collations Muster does not have.

use super::Encoding::{self, *};
use crate::Collation;

/// What there is to know about a character set.
pub(super) struct Definition {
    pub name: &'static str,
    pub description: &'static str,
    pub default_collation: Collation,
    pub max_bytes: u32,
    pub encoding: Encoding,
}

macro_rules! charsets {
    ($($variant:ident, $name:literal, $description:literal, $collation:ident, $max_bytes:literal, $encoding:ident;)*) => {
        /// The character sets Muster knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Charset {
            $(
                #[doc = $description]
                $variant,
            )*
        }

        /// All character sets, in the order of their names.
        pub(super) const ALL: &[Charset] = &[$(Charset::$variant),*];

        static DEFINITIONS: [Definition; ALL.len()] = [$(Definition {
            name: $name,
            description: $description,
            default_collation: Collation::$collation,
            max_bytes: $max_bytes,
            encoding: $encoding,
        }),*];
    };
}

impl Charset {
    pub(super) fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }
}

#[rustfmt::skip]
charsets! {
    Armscii8, "armscii8", "ARMSCII-8 Armenian", Armscii8GeneralCi, 1, Mapped;
    Ascii, "ascii", "US ASCII", AsciiGeneralCi, 1, Ascii;
    Big5, "big5", "Big5 Traditional Chinese", Big5ChineseCi, 2, Mapped;
    Binary, "binary", "Binary pseudo charset", Binary, 1, Utf8;
    Cp1250, "cp1250", "Windows Central European", Cp1250GeneralCi, 1, Mapped;
    Cp1251, "cp1251", "Windows Cyrillic", Cp1251GeneralCi, 1, Mapped;
    Cp1256, "cp1256", "Windows Arabic", Cp1256GeneralCi, 1, Mapped;
    Cp1257, "cp1257", "Windows Baltic", Cp1257GeneralCi, 1, Mapped;
    Cp850, "cp850", "DOS West European", Cp850GeneralCi, 1, Mapped;
    Cp852, "cp852", "DOS Central European", Cp852GeneralCi, 1, Mapped;
    Cp866, "cp866", "DOS Russian", Cp866GeneralCi, 1, Mapped;
    Cp932, "cp932", "SJIS for Windows Japanese", Cp932JapaneseCi, 2, Mapped;
    Dec8, "dec8", "DEC West European", Dec8SwedishCi, 1, Mapped;
    Eucjpms, "eucjpms", "UJIS for Windows Japanese", EucjpmsJapaneseCi, 3, Mapped;
    Euckr, "euckr", "EUC-KR Korean", EuckrKoreanCi, 2, Mapped;
    Gb18030, "gb18030", "China National Standard GB18030", Gb18030ChineseCi, 4, Mapped;
    Gb2312, "gb2312", "GB2312 Simplified Chinese", Gb2312ChineseCi, 2, Mapped;
    Gbk, "gbk", "GBK Simplified Chinese", GbkChineseCi, 2, Mapped;
    Geostd8, "geostd8", "GEOSTD8 Georgian", Geostd8GeneralCi, 1, Mapped;
    Greek, "greek", "ISO 8859-7 Greek", GreekGeneralCi, 1, Mapped;
    Hebrew, "hebrew", "ISO 8859-8 Hebrew", HebrewGeneralCi, 1, Mapped;
    Hp8, "hp8", "HP West European", Hp8EnglishCi, 1, Mapped;
    Keybcs2, "keybcs2", "DOS Kamenicky Czech-Slovak", Keybcs2GeneralCi, 1, Mapped;
    Koi8r, "koi8r", "KOI8-R Relcom Russian", Koi8rGeneralCi, 1, Mapped;
    Koi8u, "koi8u", "KOI8-U Ukrainian", Koi8uGeneralCi, 1, Mapped;
    Latin1, "latin1", "cp1252 West European", Latin1SwedishCi, 1, Mapped;
    Latin2, "latin2", "ISO 8859-2 Central European", Latin2GeneralCi, 1, Mapped;
    Latin5, "latin5", "ISO 8859-9 Turkish", Latin5TurkishCi, 1, Mapped;
    Latin7, "latin7", "ISO 8859-13 Baltic", Latin7GeneralCi, 1, Mapped;
    Macce, "macce", "Mac Central European", MacceGeneralCi, 1, Mapped;
    Macroman, "macroman", "Mac West European", MacromanGeneralCi, 1, Mapped;
    Sjis, "sjis", "Shift-JIS Japanese", SjisJapaneseCi, 2, Mapped;
    Swe7, "swe7", "7bit Swedish", Swe7SwedishCi, 1, Mapped;
    Ucs2, "ucs2", "UCS-2 Unicode", Ucs2GeneralCi, 2, Ucs2;
    Ujis, "ujis", "EUC-JP Japanese", UjisJapaneseCi, 3, Mapped;
    Utf16, "utf16", "UTF-16 Unicode", Utf16GeneralCi, 4, Utf16;
    Utf16le, "utf16le", "UTF-16LE Unicode", Utf16leGeneralCi, 4, Utf16Le;
    Utf32, "utf32", "UTF-32 Unicode", Utf32GeneralCi, 4, Utf32;
    Utf8mb3, "utf8mb3", "UTF-8 Unicode", Utf8mb3GeneralCi, 3, Utf8;
    Utf8mb4, "utf8mb4", "UTF-8 Unicode", Utf8mb4_0900AiCi, 4, Utf8;
}
