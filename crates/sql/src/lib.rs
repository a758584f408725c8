//! Parsing and binding of MySQL's SQL into Rel
