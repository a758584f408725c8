//! The MySQL protocol: packets, authentication, TLS, result sets
