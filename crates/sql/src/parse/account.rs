//! Users: CREATE, ALTER, DROP and RENAME USER, SET PASSWORD.

use super::{cursor::Cursor, reserved::is_reserved, roles::role_list};
use crate::{
    AccountOptions, AccountStatement, Authentication, OrDefault, PasswordExpiry, RoleSet, Statement, TlsRequirement,
    UserAttribute, UserName, UserSpec,
};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::tokenizer::{Token, Word};

/// Most failed logins and days of PASSWORD_LOCK_TIME (manual 13.7.1.3).
const LOCK_MAX: u64 = 32_767;
/// Most days and passwords of the other clauses.
const DAYS_MAX: u64 = 65_535;

fn own_account() -> UserName {
    UserName { user: String::new(), host: String::new(), current: true }
}

/// `'user'@'host'`, `user@host`, `user`, `CURRENT_USER()`. The tokenizer makes `@` a part of bare words.
pub(super) fn user_name(c: &mut Cursor) -> Result<UserName> {
    if c.accept("CURRENT_USER") {
        if c.accept_token(&Token::LParen) {
            c.expect_token(&Token::RParen)?;
        }
        return Ok(own_account());
    }
    let (user, mut host) = match c.peek(0) {
        Token::Word(Word { value, quote_style: None, .. }) if value.contains('@') && !value.starts_with('@') => {
            let (user, host) = value.split_once('@').unwrap_or((value, ""));
            let pair = (user.to_string(), Some(host.to_string()));
            c.advance();
            pair
        }
        Token::Word(Word { value, quote_style: None, .. }) if is_reserved(value) => return Err(c.error()),
        _ => (c.name_or_string()?, None),
    };
    if host.is_none() {
        match c.peek(0) {
            Token::AtSign => {
                c.advance();
                host = Some(String::new());
            }
            Token::Word(Word { value, quote_style: None, .. }) if value.starts_with('@') => {
                host = Some(value[1..].to_string());
                c.advance();
            }
            _ => {}
        }
    }
    let host = match host {
        None => "%".to_string(),
        Some(host) if host.is_empty() => c.name_or_string()?,
        Some(mut host) => {
            while c.accept_token(&Token::Period) {
                host = format!("{host}.{}", c.identifier()?);
            }
            host
        }
    };
    Ok(UserName { user, host: host.to_ascii_lowercase(), current: false })
}

fn user_spec(c: &mut Cursor) -> Result<UserSpec> {
    let name = match c.at("USER") && *c.peek(1) == Token::LParen && *c.peek(2) == Token::RParen {
        true => {
            (0..3).for_each(|_| c.advance());
            own_account()
        }
        false => user_name(c)?,
    };
    // No account has an old password beside the one that counts.
    if c.accept("DISCARD OLD PASSWORD") || !c.accept("IDENTIFIED") {
        return Ok(UserSpec { name, authentication: None, replaced: None });
    }
    let authentication = if c.accept("WITH") {
        let plugin = c.name_or_string()?;
        if c.accept("BY") {
            password(c, Some(plugin))?
        } else if c.accept("AS") {
            Authentication::Hash { plugin, hash: hash(c)? }
        } else {
            Authentication::Plugin(plugin)
        }
    } else {
        c.expect("BY")?;
        password(c, None)?
    };
    let replaced = if c.accept("REPLACE") { Some(c.string()?) } else { None };
    if c.at("RETAIN") {
        return Err(SqlError::unsupported("RETAIN CURRENT PASSWORD"));
    }
    if c.at("AND") {
        return Err(SqlError::unsupported("several authentication factors"));
    }
    Ok(UserSpec { name, authentication: Some(authentication), replaced })
}

fn password(c: &mut Cursor, plugin: Option<String>) -> Result<Authentication> {
    Ok(match c.accept("RANDOM PASSWORD") {
        true => Authentication::Random { plugin },
        false => Authentication::Password { plugin, password: c.string()? },
    })
}

/// A hash as text or as hexadecimal digits.
fn hash(c: &mut Cursor) -> Result<String> {
    if let Token::HexStringLiteral(digits) = c.peek(0) {
        let bytes = super::column::hex_bytes(digits).ok_or_else(|| c.error())?;
        let text = String::from_utf8(bytes).map_err(|_| c.error())?;
        c.advance();
        return Ok(text);
    }
    c.string()
}

/// Reads `USER ..` behind CREATE.
pub(super) fn create(c: &mut Cursor) -> Result<Statement> {
    c.expect("USER")?;
    let if_not_exists = c.accept("IF NOT EXISTS");
    let users = c.list(user_spec)?;
    let default_roles = if c.accept("DEFAULT ROLE") { c.list(user_name)? } else { Vec::new() };
    let options = AccountOptions { default_roles, ..options(c)? };
    Ok(Statement::Account(AccountStatement::CreateUser { if_not_exists, users, options }))
}

/// Reads `USER ..` behind ALTER.
pub(super) fn alter(c: &mut Cursor) -> Result<Statement> {
    c.expect("USER")?;
    let if_exists = c.accept("IF EXISTS");
    let users = c.list(user_spec)?;
    if let [UserSpec { name, authentication: None, .. }] = &users[..]
        && c.accept("DEFAULT ROLE")
    {
        let roles = default_roles(c)?;
        let users = vec![name.clone()];
        return Ok(Statement::Account(AccountStatement::SetDefaultRole { roles, users, alters: true, if_exists }));
    }
    let options = options(c)?;
    Ok(Statement::Account(AccountStatement::AlterUser { if_exists, users, options }))
}

/// `NONE`, `ALL` or a list of roles.
pub(super) fn default_roles(c: &mut Cursor) -> Result<RoleSet> {
    Ok(match c.accept_any(&["NONE", "ALL"]) {
        Some("NONE") => RoleSet::None,
        Some(_) => RoleSet::AllExcept(Vec::new()),
        None => RoleSet::Listed(role_list(c)?),
    })
}

/// The clauses behind the users, in the order that MySQL takes them in.
fn options(c: &mut Cursor) -> Result<AccountOptions> {
    let mut options = AccountOptions { tls: tls(c)?, ..AccountOptions::default() };
    if c.accept("WITH") {
        limits(c, &mut options)?;
    }
    while let Some(clause) = c.accept_any(&["ACCOUNT", "PASSWORD", "FAILED_LOGIN_ATTEMPTS", "PASSWORD_LOCK_TIME"]) {
        match clause {
            "ACCOUNT" => {
                options.locked = Some(c.accept_any(&["LOCK", "UNLOCK"]).ok_or_else(|| c.error())? == "LOCK");
            }
            "PASSWORD" => password_option(c, &mut options)?,
            "PASSWORD_LOCK_TIME" if c.accept("UNBOUNDED") => options.lock_days = Some(-1),
            "PASSWORD_LOCK_TIME" => options.lock_days = Some(bounded(c, clause, 0, LOCK_MAX)? as i32),
            _ => options.failed_login_attempts = Some(bounded(c, clause, 0, LOCK_MAX)? as u16),
        }
    }
    if c.accept("COMMENT") {
        options.attribute = Some(UserAttribute::Comment(c.string()?));
    } else if c.accept("ATTRIBUTE") {
        options.attribute = Some(UserAttribute::Json(c.string()?));
    }
    Ok(options)
}

/// A number between bounds; error 1525 for another.
fn bounded(c: &mut Cursor, what: &str, min: u64, max: u64) -> Result<u64> {
    let n = c.unsigned()?;
    match (min..=max).contains(&n) {
        true => Ok(n),
        false => Err(SqlError::new(ErrorCode::WrongValue, format!("Incorrect {what} value: '{n}'"))),
    }
}

fn tls(c: &mut Cursor) -> Result<Option<TlsRequirement>> {
    if !c.accept("REQUIRE") {
        return Ok(None);
    }
    match c.accept_any(&["NONE", "SSL", "X509"]) {
        Some("NONE") => return Ok(Some(TlsRequirement::None)),
        Some("SSL") => return Ok(Some(TlsRequirement::Ssl)),
        Some(_) => return Ok(Some(TlsRequirement::X509)),
        None => {}
    }
    let (mut subject, mut issuer, mut cipher) = (None, None, None);
    while let Some(word) = c.accept_any(&["SUBJECT", "ISSUER", "CIPHER"]) {
        let slot = match word {
            "SUBJECT" => &mut subject,
            "ISSUER" => &mut issuer,
            _ => &mut cipher,
        };
        if slot.replace(c.string()?).is_some() {
            return Err(SqlError::new(
                ErrorCode::DuplicateArgument,
                format!("Option '{word}' used twice in statement"),
            ));
        }
        c.accept("AND");
    }
    match (&subject, &issuer, &cipher) {
        (None, None, None) => Err(c.error()),
        _ => Ok(Some(TlsRequirement::Certificate { subject, issuer, cipher })),
    }
}

/// `MAX_USER_CONNECTIONS n`. Limits by the hour are not counted, so none but 0, which is no limit, can be set.
fn limits(c: &mut Cursor, options: &mut AccountOptions) -> Result<()> {
    let names = ["MAX_USER_CONNECTIONS", "MAX_QUERIES_PER_HOUR", "MAX_UPDATES_PER_HOUR", "MAX_CONNECTIONS_PER_HOUR"];
    let mut any = false;
    while let Some(name) = c.accept_any(&names) {
        let n = c.unsigned()?;
        match name {
            "MAX_USER_CONNECTIONS" => options.connections_max = Some(u32::try_from(n).unwrap_or(u32::MAX)),
            _ if n == 0 => {}
            _ => return Err(SqlError::unsupported(name)),
        }
        any = true;
    }
    if any { Ok(()) } else { Err(c.error()) }
}

/// The words behind `PASSWORD`.
fn password_option(c: &mut Cursor, options: &mut AccountOptions) -> Result<()> {
    match c.accept_any(&["EXPIRE", "HISTORY", "REUSE INTERVAL", "REQUIRE CURRENT"]) {
        Some("EXPIRE") => {
            options.expiry = Some(match c.accept_any(&["DEFAULT", "NEVER", "INTERVAL"]) {
                Some("DEFAULT") => PasswordExpiry::Default,
                Some("NEVER") => PasswordExpiry::Never,
                Some(_) => {
                    let days = bounded(c, "DAY", 1, DAYS_MAX)?;
                    c.expect("DAY")?;
                    PasswordExpiry::Days(days as u16)
                }
                None => PasswordExpiry::Now,
            });
        }
        Some("HISTORY") if c.accept("DEFAULT") => options.history = Some(OrDefault::Default),
        Some("HISTORY") => {
            options.history = Some(OrDefault::Own(bounded(c, "PASSWORD HISTORY", 0, DAYS_MAX)? as u16));
        }
        Some("REUSE INTERVAL") if c.accept("DEFAULT") => options.reuse_days = Some(OrDefault::Default),
        Some("REUSE INTERVAL") => {
            options.reuse_days = Some(OrDefault::Own(bounded(c, "DAY", 0, DAYS_MAX)? as u16));
            c.expect("DAY")?;
        }
        Some(_) => {
            options.requires_current = Some(match c.accept_any(&["DEFAULT", "OPTIONAL"]) {
                Some("DEFAULT") => OrDefault::Default,
                Some(_) => OrDefault::Own(false),
                None => OrDefault::Own(true),
            });
        }
        None => return Err(c.error()),
    }
    Ok(())
}

/// Reads `USER ..` behind DROP.
pub(super) fn drop_user(c: &mut Cursor) -> Result<Statement> {
    c.expect("USER")?;
    let if_exists = c.accept("IF EXISTS");
    Ok(Statement::Account(AccountStatement::DropUser { if_exists, users: c.list(user_name)? }))
}

/// Reads `USER ..` behind RENAME.
pub(super) fn rename(c: &mut Cursor) -> Result<Statement> {
    c.expect("USER")?;
    let pairs = c.list(|c| {
        let from = user_name(c)?;
        c.expect("TO")?;
        Ok((from, user_name(c)?))
    })?;
    Ok(Statement::Account(AccountStatement::RenameUser(pairs)))
}

/// Reads what follows `SET PASSWORD`.
pub(super) fn set_password(c: &mut Cursor) -> Result<Statement> {
    let user = if c.accept("FOR") { user_name(c)? } else { own_account() };
    let password = match c.accept("TO RANDOM") {
        true => None,
        false => {
            c.expect_token(&Token::Eq)?;
            Some(c.string()?)
        }
    };
    let replaced = if c.accept("REPLACE") { Some(c.string()?) } else { None };
    if c.at("RETAIN") {
        return Err(SqlError::unsupported("RETAIN CURRENT PASSWORD"));
    }
    Ok(Statement::Account(AccountStatement::SetPassword { user, password, replaced }))
}
