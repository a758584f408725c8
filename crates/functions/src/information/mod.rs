//! Functions that tell of the server, and those that print numbers for people.

mod amounts;
mod files;

use crate::{
    Call, Function, ResultType, SessionValue,
    Takes::{Double, Text},
    result,
};
use muster_types::{Result, Value};

/// The values of the session that LOAD_FILE depends on.
const FILES: &[SessionValue] = &[
    SessionValue::Variable("secure_file_priv"),
    SessionValue::Variable("max_allowed_packet"),
    SessionValue::ReadsFiles,
];

pub const FUNCTIONS: &[Function] = &[
    Function::new("FORMAT_BYTES", &[Double], |_| ResultType::SystemText(11), amounts::format_bytes),
    Function::new("FORMAT_PICO_TIME", &[Double], |_| ResultType::SystemText(11), amounts::format_pico_time),
    Function::new("ICU_VERSION", &[], |_| ResultType::SystemText(4), icu_version).never_null(),
    Function::new("LOAD_FILE", &[Text], |_| ResultType::Bytes(u32::MAX.into()), files::load_file)
        .volatile()
        .asks(FILES),
    Function::new("VALIDATE_PASSWORD_STRENGTH", &[Text], result::bigint, validate_password_strength).null_of_null(),
];

/// The version of ICU whose regular expressions Muster's follow: that of MySQL 8.0.33.
fn icu_version(_: &mut Call, _: &[Value]) -> Result<Value> {
    Ok(Value::Text("69.1".into()))
}

/// 0, as in a MySQL server without the component that tests passwords.
fn validate_password_strength(_: &mut Call, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(0))
}
