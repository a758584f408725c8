//! Rewrites, cardinality, join order and access paths: from Rel to Plan
