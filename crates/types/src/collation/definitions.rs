//! The collations: one line each.
//!
//! The columns are the variant; MySQL's number; MySQL's name; the character set; `SORTLEN` of
//! `information_schema.COLLATIONS`; how texts are weighed. What MySQL 8.0.33 has besides: `latin2_czech_cs` and
//! `cp1250_czech_cs`, which weigh a text in several passes of their own, the collations of `tis620`, which swaps vowels
//! and consonants before it compares, and the Japanese ones of UCA 9.0.0, whose marks of length and repetition weigh as
//! what stands before them.

use super::Algorithm::{self, *};
use crate::charset::Charset;

/// What there is to know about a collation.
pub(super) struct Definition {
    pub id: u16,
    pub name: &'static str,
    pub charset: Charset,
    pub sort_length: u8,
    pub algorithm: Algorithm,
}

macro_rules! collations {
    ($($variant:ident, $id:literal, $name:literal, $charset:ident, $sort_length:literal, $algorithm:expr;)*) => {
        /// The collations Muster knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Collation {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )*
        }

        /// All collations, in the order of their names.
        pub(super) const ALL: &[Collation] = &[$(Collation::$variant),*];

        static DEFINITIONS: [Definition; ALL.len()] = [$(Definition {
            id: $id,
            name: $name,
            charset: Charset::$charset,
            sort_length: $sort_length,
            algorithm: $algorithm,
        }),*];
    };
}

impl Collation {
    pub(super) fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }
}

#[rustfmt::skip]
collations! {
    Armscii8Bin, 64, "armscii8_bin", Armscii8, 1, Encoded;
    Armscii8GeneralCi, 32, "armscii8_general_ci", Armscii8, 1, Order("armscii8_general_ci");
    AsciiBin, 65, "ascii_bin", Ascii, 1, Encoded;
    AsciiGeneralCi, 11, "ascii_general_ci", Ascii, 1, Order("ascii_general_ci");
    Big5Bin, 84, "big5_bin", Big5, 1, Encoded;
    Big5ChineseCi, 1, "big5_chinese_ci", Big5, 1, Order("big5_chinese_ci");
    Binary, 63, "binary", Binary, 1, Bytes;
    Cp1250Bin, 66, "cp1250_bin", Cp1250, 1, Encoded;
    Cp1250CroatianCi, 44, "cp1250_croatian_ci", Cp1250, 1, Order("cp1250_croatian_ci");
    Cp1250GeneralCi, 26, "cp1250_general_ci", Cp1250, 1, Order("cp1250_general_ci");
    Cp1250PolishCi, 99, "cp1250_polish_ci", Cp1250, 1, Order("cp1250_polish_ci");
    Cp1251Bin, 50, "cp1251_bin", Cp1251, 1, Encoded;
    Cp1251BulgarianCi, 14, "cp1251_bulgarian_ci", Cp1251, 1, Order("cp1251_bulgarian_ci");
    Cp1251GeneralCi, 51, "cp1251_general_ci", Cp1251, 1, Order("cp1251_general_ci");
    Cp1251GeneralCs, 52, "cp1251_general_cs", Cp1251, 1, Order("cp1251_general_cs");
    Cp1251UkrainianCi, 23, "cp1251_ukrainian_ci", Cp1251, 1, Order("cp1251_ukrainian_ci");
    Cp1256Bin, 67, "cp1256_bin", Cp1256, 1, Encoded;
    Cp1256GeneralCi, 57, "cp1256_general_ci", Cp1256, 1, Order("cp1256_general_ci");
    Cp1257Bin, 58, "cp1257_bin", Cp1257, 1, Encoded;
    Cp1257GeneralCi, 59, "cp1257_general_ci", Cp1257, 1, Order("cp1257_general_ci");
    Cp1257LithuanianCi, 29, "cp1257_lithuanian_ci", Cp1257, 1, Order("cp1257_lithuanian_ci");
    Cp850Bin, 80, "cp850_bin", Cp850, 1, Encoded;
    Cp850GeneralCi, 4, "cp850_general_ci", Cp850, 1, Order("cp850_general_ci");
    Cp852Bin, 81, "cp852_bin", Cp852, 1, Encoded;
    Cp852GeneralCi, 40, "cp852_general_ci", Cp852, 1, Order("cp852_general_ci");
    Cp866Bin, 68, "cp866_bin", Cp866, 1, Encoded;
    Cp866GeneralCi, 36, "cp866_general_ci", Cp866, 1, Order("cp866_general_ci");
    Cp932Bin, 96, "cp932_bin", Cp932, 1, Encoded;
    Cp932JapaneseCi, 95, "cp932_japanese_ci", Cp932, 1, Order("cp932_japanese_ci");
    Dec8Bin, 69, "dec8_bin", Dec8, 1, Encoded;
    Dec8SwedishCi, 3, "dec8_swedish_ci", Dec8, 1, Order("dec8_swedish_ci");
    EucjpmsBin, 98, "eucjpms_bin", Eucjpms, 1, Encoded;
    EucjpmsJapaneseCi, 97, "eucjpms_japanese_ci", Eucjpms, 1, Order("eucjpms_japanese_ci");
    EuckrBin, 85, "euckr_bin", Euckr, 1, Encoded;
    EuckrKoreanCi, 19, "euckr_korean_ci", Euckr, 1, Order("euckr_korean_ci");
    Gb18030Bin, 249, "gb18030_bin", Gb18030, 1, Encoded;
    Gb18030ChineseCi, 248, "gb18030_chinese_ci", Gb18030, 2, Order("gb18030_chinese_ci");
    Gb18030Unicode520Ci, 250, "gb18030_unicode_520_ci", Gb18030, 8, Uca("uca_5.2.0", 1);
    Gb2312Bin, 86, "gb2312_bin", Gb2312, 1, Encoded;
    Gb2312ChineseCi, 24, "gb2312_chinese_ci", Gb2312, 1, Order("gb2312_chinese_ci");
    GbkBin, 87, "gbk_bin", Gbk, 1, Encoded;
    GbkChineseCi, 28, "gbk_chinese_ci", Gbk, 1, Order("gbk_chinese_ci");
    Geostd8Bin, 93, "geostd8_bin", Geostd8, 1, Encoded;
    Geostd8GeneralCi, 92, "geostd8_general_ci", Geostd8, 1, Order("geostd8_general_ci");
    GreekBin, 70, "greek_bin", Greek, 1, Encoded;
    GreekGeneralCi, 25, "greek_general_ci", Greek, 1, Order("greek_general_ci");
    HebrewBin, 71, "hebrew_bin", Hebrew, 1, Encoded;
    HebrewGeneralCi, 16, "hebrew_general_ci", Hebrew, 1, Order("hebrew_general_ci");
    Hp8Bin, 72, "hp8_bin", Hp8, 1, Encoded;
    Hp8EnglishCi, 6, "hp8_english_ci", Hp8, 1, Order("hp8_english_ci");
    Keybcs2Bin, 73, "keybcs2_bin", Keybcs2, 1, Encoded;
    Keybcs2GeneralCi, 37, "keybcs2_general_ci", Keybcs2, 1, Order("keybcs2_general_ci");
    Koi8rBin, 74, "koi8r_bin", Koi8r, 1, Encoded;
    Koi8rGeneralCi, 7, "koi8r_general_ci", Koi8r, 1, Order("koi8r_general_ci");
    Koi8uBin, 75, "koi8u_bin", Koi8u, 1, Encoded;
    Koi8uGeneralCi, 22, "koi8u_general_ci", Koi8u, 1, Order("koi8u_general_ci");
    Latin1Bin, 47, "latin1_bin", Latin1, 1, Encoded;
    Latin1DanishCi, 15, "latin1_danish_ci", Latin1, 1, Order("latin1_danish_ci");
    Latin1GeneralCi, 48, "latin1_general_ci", Latin1, 1, Order("latin1_general_ci");
    Latin1GeneralCs, 49, "latin1_general_cs", Latin1, 1, Order("latin1_general_cs");
    Latin1German1Ci, 5, "latin1_german1_ci", Latin1, 1, Order("latin1_german1_ci");
    Latin1German2Ci, 31, "latin1_german2_ci", Latin1, 2, Uca("latin1_german2_ci", 1);
    Latin1SpanishCi, 94, "latin1_spanish_ci", Latin1, 1, Order("latin1_spanish_ci");
    Latin1SwedishCi, 8, "latin1_swedish_ci", Latin1, 1, Order("latin1_swedish_ci");
    Latin2Bin, 77, "latin2_bin", Latin2, 1, Encoded;
    Latin2CroatianCi, 27, "latin2_croatian_ci", Latin2, 1, Order("latin2_croatian_ci");
    Latin2GeneralCi, 9, "latin2_general_ci", Latin2, 1, Order("latin2_general_ci");
    Latin2HungarianCi, 21, "latin2_hungarian_ci", Latin2, 1, Order("latin2_hungarian_ci");
    Latin5Bin, 78, "latin5_bin", Latin5, 1, Encoded;
    Latin5TurkishCi, 30, "latin5_turkish_ci", Latin5, 1, Order("latin5_turkish_ci");
    Latin7Bin, 79, "latin7_bin", Latin7, 1, Encoded;
    Latin7EstonianCs, 20, "latin7_estonian_cs", Latin7, 1, Order("latin7_estonian_cs");
    Latin7GeneralCi, 41, "latin7_general_ci", Latin7, 1, Order("latin7_general_ci");
    Latin7GeneralCs, 42, "latin7_general_cs", Latin7, 1, Order("latin7_general_cs");
    MacceBin, 43, "macce_bin", Macce, 1, Encoded;
    MacceGeneralCi, 38, "macce_general_ci", Macce, 1, Order("macce_general_ci");
    MacromanBin, 53, "macroman_bin", Macroman, 1, Encoded;
    MacromanGeneralCi, 39, "macroman_general_ci", Macroman, 1, Order("macroman_general_ci");
    SjisBin, 88, "sjis_bin", Sjis, 1, Encoded;
    SjisJapaneseCi, 13, "sjis_japanese_ci", Sjis, 1, Order("sjis_japanese_ci");
    Swe7Bin, 82, "swe7_bin", Swe7, 1, Encoded;
    Swe7SwedishCi, 10, "swe7_swedish_ci", Swe7, 1, Order("swe7_swedish_ci");
    Ucs2Bin, 90, "ucs2_bin", Ucs2, 1, CodePoints;
    Ucs2CroatianCi, 149, "ucs2_croatian_ci", Ucs2, 8, Uca("utf8mb4_croatian_ci", 1);
    Ucs2CzechCi, 138, "ucs2_czech_ci", Ucs2, 8, Uca("utf8mb4_czech_ci", 1);
    Ucs2DanishCi, 139, "ucs2_danish_ci", Ucs2, 8, Uca("utf8mb4_danish_ci", 1);
    Ucs2EsperantoCi, 145, "ucs2_esperanto_ci", Ucs2, 8, Uca("utf8mb4_esperanto_ci", 1);
    Ucs2EstonianCi, 134, "ucs2_estonian_ci", Ucs2, 8, Uca("utf8mb4_estonian_ci", 1);
    Ucs2GeneralCi, 35, "ucs2_general_ci", Ucs2, 1, Order("utf8mb4_general_ci");
    Ucs2GeneralMysql500Ci, 159, "ucs2_general_mysql500_ci", Ucs2, 1, Order("utf8mb3_general_mysql500_ci");
    Ucs2German2Ci, 148, "ucs2_german2_ci", Ucs2, 8, Uca("utf8mb4_german2_ci", 1);
    Ucs2HungarianCi, 146, "ucs2_hungarian_ci", Ucs2, 8, Uca("utf8mb4_hungarian_ci", 1);
    Ucs2IcelandicCi, 129, "ucs2_icelandic_ci", Ucs2, 8, Uca("utf8mb4_icelandic_ci", 1);
    Ucs2LatvianCi, 130, "ucs2_latvian_ci", Ucs2, 8, Uca("utf8mb4_latvian_ci", 1);
    Ucs2LithuanianCi, 140, "ucs2_lithuanian_ci", Ucs2, 8, Uca("utf8mb4_lithuanian_ci", 1);
    Ucs2PersianCi, 144, "ucs2_persian_ci", Ucs2, 8, Uca("utf8mb4_persian_ci", 1);
    Ucs2PolishCi, 133, "ucs2_polish_ci", Ucs2, 8, Uca("utf8mb4_polish_ci", 1);
    Ucs2RomanCi, 143, "ucs2_roman_ci", Ucs2, 8, Uca("utf8mb4_roman_ci", 1);
    Ucs2RomanianCi, 131, "ucs2_romanian_ci", Ucs2, 8, Uca("utf8mb4_romanian_ci", 1);
    Ucs2SinhalaCi, 147, "ucs2_sinhala_ci", Ucs2, 8, Uca("utf8mb4_sinhala_ci", 1);
    Ucs2SlovakCi, 141, "ucs2_slovak_ci", Ucs2, 8, Uca("utf8mb4_slovak_ci", 1);
    Ucs2SlovenianCi, 132, "ucs2_slovenian_ci", Ucs2, 8, Uca("utf8mb4_slovenian_ci", 1);
    Ucs2Spanish2Ci, 142, "ucs2_spanish2_ci", Ucs2, 8, Uca("utf8mb4_spanish2_ci", 1);
    Ucs2SpanishCi, 135, "ucs2_spanish_ci", Ucs2, 8, Uca("utf8mb4_spanish_ci", 1);
    Ucs2SwedishCi, 136, "ucs2_swedish_ci", Ucs2, 8, Uca("utf8mb4_swedish_ci", 1);
    Ucs2TurkishCi, 137, "ucs2_turkish_ci", Ucs2, 8, Uca("utf8mb4_turkish_ci", 1);
    Ucs2Unicode520Ci, 150, "ucs2_unicode_520_ci", Ucs2, 8, Uca("uca_5.2.0", 1);
    Ucs2UnicodeCi, 128, "ucs2_unicode_ci", Ucs2, 8, Uca("uca_4.0.0", 1);
    Ucs2VietnameseCi, 151, "ucs2_vietnamese_ci", Ucs2, 8, Uca("utf8mb4_vietnamese_ci", 1);
    UjisBin, 91, "ujis_bin", Ujis, 1, Encoded;
    UjisJapaneseCi, 12, "ujis_japanese_ci", Ujis, 1, Order("ujis_japanese_ci");
    Utf16Bin, 55, "utf16_bin", Utf16, 1, CodePoints;
    Utf16CroatianCi, 122, "utf16_croatian_ci", Utf16, 8, Uca("utf8mb4_croatian_ci", 1);
    Utf16CzechCi, 111, "utf16_czech_ci", Utf16, 8, Uca("utf8mb4_czech_ci", 1);
    Utf16DanishCi, 112, "utf16_danish_ci", Utf16, 8, Uca("utf8mb4_danish_ci", 1);
    Utf16EsperantoCi, 118, "utf16_esperanto_ci", Utf16, 8, Uca("utf8mb4_esperanto_ci", 1);
    Utf16EstonianCi, 107, "utf16_estonian_ci", Utf16, 8, Uca("utf8mb4_estonian_ci", 1);
    Utf16GeneralCi, 54, "utf16_general_ci", Utf16, 1, Order("utf8mb4_general_ci");
    Utf16German2Ci, 121, "utf16_german2_ci", Utf16, 8, Uca("utf8mb4_german2_ci", 1);
    Utf16HungarianCi, 119, "utf16_hungarian_ci", Utf16, 8, Uca("utf8mb4_hungarian_ci", 1);
    Utf16IcelandicCi, 102, "utf16_icelandic_ci", Utf16, 8, Uca("utf8mb4_icelandic_ci", 1);
    Utf16LatvianCi, 103, "utf16_latvian_ci", Utf16, 8, Uca("utf8mb4_latvian_ci", 1);
    Utf16LithuanianCi, 113, "utf16_lithuanian_ci", Utf16, 8, Uca("utf8mb4_lithuanian_ci", 1);
    Utf16PersianCi, 117, "utf16_persian_ci", Utf16, 8, Uca("utf8mb4_persian_ci", 1);
    Utf16PolishCi, 106, "utf16_polish_ci", Utf16, 8, Uca("utf8mb4_polish_ci", 1);
    Utf16RomanCi, 116, "utf16_roman_ci", Utf16, 8, Uca("utf8mb4_roman_ci", 1);
    Utf16RomanianCi, 104, "utf16_romanian_ci", Utf16, 8, Uca("utf8mb4_romanian_ci", 1);
    Utf16SinhalaCi, 120, "utf16_sinhala_ci", Utf16, 8, Uca("utf8mb4_sinhala_ci", 1);
    Utf16SlovakCi, 114, "utf16_slovak_ci", Utf16, 8, Uca("utf8mb4_slovak_ci", 1);
    Utf16SlovenianCi, 105, "utf16_slovenian_ci", Utf16, 8, Uca("utf8mb4_slovenian_ci", 1);
    Utf16Spanish2Ci, 115, "utf16_spanish2_ci", Utf16, 8, Uca("utf8mb4_spanish2_ci", 1);
    Utf16SpanishCi, 108, "utf16_spanish_ci", Utf16, 8, Uca("utf8mb4_spanish_ci", 1);
    Utf16SwedishCi, 109, "utf16_swedish_ci", Utf16, 8, Uca("utf8mb4_swedish_ci", 1);
    Utf16TurkishCi, 110, "utf16_turkish_ci", Utf16, 8, Uca("utf8mb4_turkish_ci", 1);
    Utf16Unicode520Ci, 123, "utf16_unicode_520_ci", Utf16, 8, Uca("uca_5.2.0", 1);
    Utf16UnicodeCi, 101, "utf16_unicode_ci", Utf16, 8, Uca("uca_4.0.0", 1);
    Utf16VietnameseCi, 124, "utf16_vietnamese_ci", Utf16, 8, Uca("utf8mb4_vietnamese_ci", 1);
    Utf16leBin, 62, "utf16le_bin", Utf16le, 1, CodePoints;
    Utf16leGeneralCi, 56, "utf16le_general_ci", Utf16le, 1, Order("utf8mb4_general_ci");
    Utf32Bin, 61, "utf32_bin", Utf32, 1, CodePoints;
    Utf32CroatianCi, 181, "utf32_croatian_ci", Utf32, 8, Uca("utf8mb4_croatian_ci", 1);
    Utf32CzechCi, 170, "utf32_czech_ci", Utf32, 8, Uca("utf8mb4_czech_ci", 1);
    Utf32DanishCi, 171, "utf32_danish_ci", Utf32, 8, Uca("utf8mb4_danish_ci", 1);
    Utf32EsperantoCi, 177, "utf32_esperanto_ci", Utf32, 8, Uca("utf8mb4_esperanto_ci", 1);
    Utf32EstonianCi, 166, "utf32_estonian_ci", Utf32, 8, Uca("utf8mb4_estonian_ci", 1);
    Utf32GeneralCi, 60, "utf32_general_ci", Utf32, 1, Order("utf8mb4_general_ci");
    Utf32German2Ci, 180, "utf32_german2_ci", Utf32, 8, Uca("utf8mb4_german2_ci", 1);
    Utf32HungarianCi, 178, "utf32_hungarian_ci", Utf32, 8, Uca("utf8mb4_hungarian_ci", 1);
    Utf32IcelandicCi, 161, "utf32_icelandic_ci", Utf32, 8, Uca("utf8mb4_icelandic_ci", 1);
    Utf32LatvianCi, 162, "utf32_latvian_ci", Utf32, 8, Uca("utf8mb4_latvian_ci", 1);
    Utf32LithuanianCi, 172, "utf32_lithuanian_ci", Utf32, 8, Uca("utf8mb4_lithuanian_ci", 1);
    Utf32PersianCi, 176, "utf32_persian_ci", Utf32, 8, Uca("utf8mb4_persian_ci", 1);
    Utf32PolishCi, 165, "utf32_polish_ci", Utf32, 8, Uca("utf8mb4_polish_ci", 1);
    Utf32RomanCi, 175, "utf32_roman_ci", Utf32, 8, Uca("utf8mb4_roman_ci", 1);
    Utf32RomanianCi, 163, "utf32_romanian_ci", Utf32, 8, Uca("utf8mb4_romanian_ci", 1);
    Utf32SinhalaCi, 179, "utf32_sinhala_ci", Utf32, 8, Uca("utf8mb4_sinhala_ci", 1);
    Utf32SlovakCi, 173, "utf32_slovak_ci", Utf32, 8, Uca("utf8mb4_slovak_ci", 1);
    Utf32SlovenianCi, 164, "utf32_slovenian_ci", Utf32, 8, Uca("utf8mb4_slovenian_ci", 1);
    Utf32Spanish2Ci, 174, "utf32_spanish2_ci", Utf32, 8, Uca("utf8mb4_spanish2_ci", 1);
    Utf32SpanishCi, 167, "utf32_spanish_ci", Utf32, 8, Uca("utf8mb4_spanish_ci", 1);
    Utf32SwedishCi, 168, "utf32_swedish_ci", Utf32, 8, Uca("utf8mb4_swedish_ci", 1);
    Utf32TurkishCi, 169, "utf32_turkish_ci", Utf32, 8, Uca("utf8mb4_turkish_ci", 1);
    Utf32Unicode520Ci, 182, "utf32_unicode_520_ci", Utf32, 8, Uca("uca_5.2.0", 1);
    Utf32UnicodeCi, 160, "utf32_unicode_ci", Utf32, 8, Uca("uca_4.0.0", 1);
    Utf32VietnameseCi, 183, "utf32_vietnamese_ci", Utf32, 8, Uca("utf8mb4_vietnamese_ci", 1);
    Utf8mb3Bin, 83, "utf8mb3_bin", Utf8mb3, 1, CodePoints;
    Utf8mb3CroatianCi, 213, "utf8mb3_croatian_ci", Utf8mb3, 8, Uca("utf8mb4_croatian_ci", 1);
    Utf8mb3CzechCi, 202, "utf8mb3_czech_ci", Utf8mb3, 8, Uca("utf8mb4_czech_ci", 1);
    Utf8mb3DanishCi, 203, "utf8mb3_danish_ci", Utf8mb3, 8, Uca("utf8mb4_danish_ci", 1);
    Utf8mb3EsperantoCi, 209, "utf8mb3_esperanto_ci", Utf8mb3, 8, Uca("utf8mb4_esperanto_ci", 1);
    Utf8mb3EstonianCi, 198, "utf8mb3_estonian_ci", Utf8mb3, 8, Uca("utf8mb4_estonian_ci", 1);
    Utf8mb3GeneralCi, 33, "utf8mb3_general_ci", Utf8mb3, 1, Order("utf8mb4_general_ci");
    Utf8mb3GeneralMysql500Ci, 223, "utf8mb3_general_mysql500_ci", Utf8mb3, 1, Order("utf8mb3_general_mysql500_ci");
    Utf8mb3German2Ci, 212, "utf8mb3_german2_ci", Utf8mb3, 8, Uca("utf8mb4_german2_ci", 1);
    Utf8mb3HungarianCi, 210, "utf8mb3_hungarian_ci", Utf8mb3, 8, Uca("utf8mb4_hungarian_ci", 1);
    Utf8mb3IcelandicCi, 193, "utf8mb3_icelandic_ci", Utf8mb3, 8, Uca("utf8mb4_icelandic_ci", 1);
    Utf8mb3LatvianCi, 194, "utf8mb3_latvian_ci", Utf8mb3, 8, Uca("utf8mb4_latvian_ci", 1);
    Utf8mb3LithuanianCi, 204, "utf8mb3_lithuanian_ci", Utf8mb3, 8, Uca("utf8mb4_lithuanian_ci", 1);
    Utf8mb3PersianCi, 208, "utf8mb3_persian_ci", Utf8mb3, 8, Uca("utf8mb4_persian_ci", 1);
    Utf8mb3PolishCi, 197, "utf8mb3_polish_ci", Utf8mb3, 8, Uca("utf8mb4_polish_ci", 1);
    Utf8mb3RomanCi, 207, "utf8mb3_roman_ci", Utf8mb3, 8, Uca("utf8mb4_roman_ci", 1);
    Utf8mb3RomanianCi, 195, "utf8mb3_romanian_ci", Utf8mb3, 8, Uca("utf8mb4_romanian_ci", 1);
    Utf8mb3SinhalaCi, 211, "utf8mb3_sinhala_ci", Utf8mb3, 8, Uca("utf8mb4_sinhala_ci", 1);
    Utf8mb3SlovakCi, 205, "utf8mb3_slovak_ci", Utf8mb3, 8, Uca("utf8mb4_slovak_ci", 1);
    Utf8mb3SlovenianCi, 196, "utf8mb3_slovenian_ci", Utf8mb3, 8, Uca("utf8mb4_slovenian_ci", 1);
    Utf8mb3Spanish2Ci, 206, "utf8mb3_spanish2_ci", Utf8mb3, 8, Uca("utf8mb4_spanish2_ci", 1);
    Utf8mb3SpanishCi, 199, "utf8mb3_spanish_ci", Utf8mb3, 8, Uca("utf8mb4_spanish_ci", 1);
    Utf8mb3SwedishCi, 200, "utf8mb3_swedish_ci", Utf8mb3, 8, Uca("utf8mb4_swedish_ci", 1);
    Utf8mb3TolowerCi, 76, "utf8mb3_tolower_ci", Utf8mb3, 1, Order("utf8mb3_tolower_ci");
    Utf8mb3TurkishCi, 201, "utf8mb3_turkish_ci", Utf8mb3, 8, Uca("utf8mb4_turkish_ci", 1);
    Utf8mb3Unicode520Ci, 214, "utf8mb3_unicode_520_ci", Utf8mb3, 8, Uca("uca_5.2.0", 1);
    Utf8mb3UnicodeCi, 192, "utf8mb3_unicode_ci", Utf8mb3, 8, Uca("uca_4.0.0", 1);
    Utf8mb3VietnameseCi, 215, "utf8mb3_vietnamese_ci", Utf8mb3, 8, Uca("utf8mb4_vietnamese_ci", 1);
    Utf8mb4_0900AiCi, 255, "utf8mb4_0900_ai_ci", Utf8mb4, 0, Uca("uca_9.0.0", 1);
    Utf8mb4_0900AsCi, 305, "utf8mb4_0900_as_ci", Utf8mb4, 0, Uca("uca_9.0.0", 2);
    Utf8mb4_0900AsCs, 278, "utf8mb4_0900_as_cs", Utf8mb4, 0, Uca("uca_9.0.0", 3);
    Utf8mb4_0900Bin, 309, "utf8mb4_0900_bin", Utf8mb4, 1, Bytes;
    Utf8mb4Bg0900AiCi, 318, "utf8mb4_bg_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_bg_0900_as_cs", 1);
    Utf8mb4Bg0900AsCs, 319, "utf8mb4_bg_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_bg_0900_as_cs", 3);
    Utf8mb4Bin, 46, "utf8mb4_bin", Utf8mb4, 1, CodePoints;
    Utf8mb4Bs0900AiCi, 316, "utf8mb4_bs_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_bs_0900_as_cs", 1);
    Utf8mb4Bs0900AsCs, 317, "utf8mb4_bs_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_bs_0900_as_cs", 3);
    Utf8mb4CroatianCi, 245, "utf8mb4_croatian_ci", Utf8mb4, 8, Uca("utf8mb4_croatian_ci", 1);
    Utf8mb4Cs0900AiCi, 266, "utf8mb4_cs_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_cs_0900_as_cs", 1);
    Utf8mb4Cs0900AsCs, 289, "utf8mb4_cs_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_cs_0900_as_cs", 3);
    Utf8mb4CzechCi, 234, "utf8mb4_czech_ci", Utf8mb4, 8, Uca("utf8mb4_czech_ci", 1);
    Utf8mb4Da0900AiCi, 267, "utf8mb4_da_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_da_0900_as_cs", 1);
    Utf8mb4Da0900AsCs, 290, "utf8mb4_da_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_da_0900_as_cs", 3);
    Utf8mb4DanishCi, 235, "utf8mb4_danish_ci", Utf8mb4, 8, Uca("utf8mb4_danish_ci", 1);
    Utf8mb4DePb0900AiCi, 256, "utf8mb4_de_pb_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_de_pb_0900_as_cs", 1);
    Utf8mb4DePb0900AsCs, 279, "utf8mb4_de_pb_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_de_pb_0900_as_cs", 3);
    Utf8mb4Eo0900AiCi, 273, "utf8mb4_eo_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_eo_0900_as_cs", 1);
    Utf8mb4Eo0900AsCs, 296, "utf8mb4_eo_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_eo_0900_as_cs", 3);
    Utf8mb4Es0900AiCi, 263, "utf8mb4_es_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_es_0900_as_cs", 1);
    Utf8mb4Es0900AsCs, 286, "utf8mb4_es_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_es_0900_as_cs", 3);
    Utf8mb4EsTrad0900AiCi, 270, "utf8mb4_es_trad_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_es_trad_0900_as_cs", 1);
    Utf8mb4EsTrad0900AsCs, 293, "utf8mb4_es_trad_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_es_trad_0900_as_cs", 3);
    Utf8mb4EsperantoCi, 241, "utf8mb4_esperanto_ci", Utf8mb4, 8, Uca("utf8mb4_esperanto_ci", 1);
    Utf8mb4EstonianCi, 230, "utf8mb4_estonian_ci", Utf8mb4, 8, Uca("utf8mb4_estonian_ci", 1);
    Utf8mb4Et0900AiCi, 262, "utf8mb4_et_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_et_0900_as_cs", 1);
    Utf8mb4Et0900AsCs, 285, "utf8mb4_et_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_et_0900_as_cs", 3);
    Utf8mb4GeneralCi, 45, "utf8mb4_general_ci", Utf8mb4, 1, Order("utf8mb4_general_ci");
    Utf8mb4German2Ci, 244, "utf8mb4_german2_ci", Utf8mb4, 8, Uca("utf8mb4_german2_ci", 1);
    Utf8mb4Gl0900AiCi, 320, "utf8mb4_gl_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_gl_0900_as_cs", 1);
    Utf8mb4Gl0900AsCs, 321, "utf8mb4_gl_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_gl_0900_as_cs", 3);
    Utf8mb4Hr0900AiCi, 275, "utf8mb4_hr_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_hr_0900_as_cs", 1);
    Utf8mb4Hr0900AsCs, 298, "utf8mb4_hr_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_hr_0900_as_cs", 3);
    Utf8mb4Hu0900AiCi, 274, "utf8mb4_hu_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_hu_0900_as_cs", 1);
    Utf8mb4Hu0900AsCs, 297, "utf8mb4_hu_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_hu_0900_as_cs", 3);
    Utf8mb4HungarianCi, 242, "utf8mb4_hungarian_ci", Utf8mb4, 8, Uca("utf8mb4_hungarian_ci", 1);
    Utf8mb4IcelandicCi, 225, "utf8mb4_icelandic_ci", Utf8mb4, 8, Uca("utf8mb4_icelandic_ci", 1);
    Utf8mb4Is0900AiCi, 257, "utf8mb4_is_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_is_0900_as_cs", 1);
    Utf8mb4Is0900AsCs, 280, "utf8mb4_is_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_is_0900_as_cs", 3);
    Utf8mb4Ja0900AsCs, 303, "utf8mb4_ja_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_ja_0900_as_cs", 3);
    Utf8mb4La0900AiCi, 271, "utf8mb4_la_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_la_0900_as_cs", 1);
    Utf8mb4La0900AsCs, 294, "utf8mb4_la_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_la_0900_as_cs", 3);
    Utf8mb4LatvianCi, 226, "utf8mb4_latvian_ci", Utf8mb4, 8, Uca("utf8mb4_latvian_ci", 1);
    Utf8mb4LithuanianCi, 236, "utf8mb4_lithuanian_ci", Utf8mb4, 8, Uca("utf8mb4_lithuanian_ci", 1);
    Utf8mb4Lt0900AiCi, 268, "utf8mb4_lt_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_lt_0900_as_cs", 1);
    Utf8mb4Lt0900AsCs, 291, "utf8mb4_lt_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_lt_0900_as_cs", 3);
    Utf8mb4Lv0900AiCi, 258, "utf8mb4_lv_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_lv_0900_as_cs", 1);
    Utf8mb4Lv0900AsCs, 281, "utf8mb4_lv_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_lv_0900_as_cs", 3);
    Utf8mb4MnCyrl0900AiCi, 322, "utf8mb4_mn_cyrl_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_mn_cyrl_0900_as_cs", 1);
    Utf8mb4MnCyrl0900AsCs, 323, "utf8mb4_mn_cyrl_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_mn_cyrl_0900_as_cs", 3);
    Utf8mb4Nb0900AiCi, 310, "utf8mb4_nb_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_nb_0900_as_cs", 1);
    Utf8mb4Nb0900AsCs, 311, "utf8mb4_nb_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_nb_0900_as_cs", 3);
    Utf8mb4Nn0900AiCi, 312, "utf8mb4_nn_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_nn_0900_as_cs", 1);
    Utf8mb4Nn0900AsCs, 313, "utf8mb4_nn_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_nn_0900_as_cs", 3);
    Utf8mb4PersianCi, 240, "utf8mb4_persian_ci", Utf8mb4, 8, Uca("utf8mb4_persian_ci", 1);
    Utf8mb4Pl0900AiCi, 261, "utf8mb4_pl_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_pl_0900_as_cs", 1);
    Utf8mb4Pl0900AsCs, 284, "utf8mb4_pl_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_pl_0900_as_cs", 3);
    Utf8mb4PolishCi, 229, "utf8mb4_polish_ci", Utf8mb4, 8, Uca("utf8mb4_polish_ci", 1);
    Utf8mb4Ro0900AiCi, 259, "utf8mb4_ro_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_ro_0900_as_cs", 1);
    Utf8mb4Ro0900AsCs, 282, "utf8mb4_ro_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_ro_0900_as_cs", 3);
    Utf8mb4RomanCi, 239, "utf8mb4_roman_ci", Utf8mb4, 8, Uca("utf8mb4_roman_ci", 1);
    Utf8mb4RomanianCi, 227, "utf8mb4_romanian_ci", Utf8mb4, 8, Uca("utf8mb4_romanian_ci", 1);
    Utf8mb4Ru0900AiCi, 306, "utf8mb4_ru_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_ru_0900_as_cs", 1);
    Utf8mb4Ru0900AsCs, 307, "utf8mb4_ru_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_ru_0900_as_cs", 3);
    Utf8mb4SinhalaCi, 243, "utf8mb4_sinhala_ci", Utf8mb4, 8, Uca("utf8mb4_sinhala_ci", 1);
    Utf8mb4Sk0900AiCi, 269, "utf8mb4_sk_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_sk_0900_as_cs", 1);
    Utf8mb4Sk0900AsCs, 292, "utf8mb4_sk_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_sk_0900_as_cs", 3);
    Utf8mb4Sl0900AiCi, 260, "utf8mb4_sl_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_sl_0900_as_cs", 1);
    Utf8mb4Sl0900AsCs, 283, "utf8mb4_sl_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_sl_0900_as_cs", 3);
    Utf8mb4SlovakCi, 237, "utf8mb4_slovak_ci", Utf8mb4, 8, Uca("utf8mb4_slovak_ci", 1);
    Utf8mb4SlovenianCi, 228, "utf8mb4_slovenian_ci", Utf8mb4, 8, Uca("utf8mb4_slovenian_ci", 1);
    Utf8mb4Spanish2Ci, 238, "utf8mb4_spanish2_ci", Utf8mb4, 8, Uca("utf8mb4_spanish2_ci", 1);
    Utf8mb4SpanishCi, 231, "utf8mb4_spanish_ci", Utf8mb4, 8, Uca("utf8mb4_spanish_ci", 1);
    Utf8mb4SrLatn0900AiCi, 314, "utf8mb4_sr_latn_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_sr_latn_0900_as_cs", 1);
    Utf8mb4SrLatn0900AsCs, 315, "utf8mb4_sr_latn_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_sr_latn_0900_as_cs", 3);
    Utf8mb4Sv0900AiCi, 264, "utf8mb4_sv_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_sv_0900_as_cs", 1);
    Utf8mb4Sv0900AsCs, 287, "utf8mb4_sv_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_sv_0900_as_cs", 3);
    Utf8mb4SwedishCi, 232, "utf8mb4_swedish_ci", Utf8mb4, 8, Uca("utf8mb4_swedish_ci", 1);
    Utf8mb4Tr0900AiCi, 265, "utf8mb4_tr_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_tr_0900_as_cs", 1);
    Utf8mb4Tr0900AsCs, 288, "utf8mb4_tr_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_tr_0900_as_cs", 3);
    Utf8mb4TurkishCi, 233, "utf8mb4_turkish_ci", Utf8mb4, 8, Uca("utf8mb4_turkish_ci", 1);
    Utf8mb4Unicode520Ci, 246, "utf8mb4_unicode_520_ci", Utf8mb4, 8, Uca("uca_5.2.0", 1);
    Utf8mb4UnicodeCi, 224, "utf8mb4_unicode_ci", Utf8mb4, 8, Uca("uca_4.0.0", 1);
    Utf8mb4Vi0900AiCi, 277, "utf8mb4_vi_0900_ai_ci", Utf8mb4, 0, Uca("utf8mb4_vi_0900_as_cs", 1);
    Utf8mb4Vi0900AsCs, 300, "utf8mb4_vi_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_vi_0900_as_cs", 3);
    Utf8mb4VietnameseCi, 247, "utf8mb4_vietnamese_ci", Utf8mb4, 8, Uca("utf8mb4_vietnamese_ci", 1);
    Utf8mb4Zh0900AsCs, 308, "utf8mb4_zh_0900_as_cs", Utf8mb4, 0, Uca("utf8mb4_zh_0900_as_cs", 3);
}
