//! ROLES_GRAPHML(): the roles of all accounts as a graph in XML.

use super::AccountEntry;
use std::fmt::Write;

/// The graph that an account gets which may not see the roles.
pub const EMPTY: &str = r#"<?xml version="1.0" encoding="UTF-8"?><graphml />"#;

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="key0" for="edge" attr.name="color" attr.type="int" />
  <key id="key1" for="node" attr.name="name" attr.type="string" />
  <graph id="G" edgedefault="directed" parse.nodeids="canonical" parse.edgeids="canonical" parse.order="nodesfirst">
"#;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The graph: a node for each account, an edge from each account to each role that it has been granted.
pub fn graphml(accounts: &[AccountEntry]) -> String {
    let mut xml = HEAD.to_owned();
    for (n, account) in accounts.iter().enumerate() {
        let name = escaped(&account.key().in_backticks());
        // Writing to a String does not fail.
        let _ = writeln!(xml, "    <node id=\"n{n}\">\n      <data key=\"key1\">{name}</data>\n    </node>");
    }
    let mut edge = 0;
    for (from, account) in accounts.iter().enumerate() {
        for granted in &account.roles {
            let Some(to) = accounts.iter().position(|role| role.is_key(&granted.role)) else { continue };
            let admin = u8::from(granted.admin_option);
            let _ = writeln!(
                xml,
                "    <edge id=\"e{edge}\" source=\"n{from}\" target=\"n{to}\">\n      <data \
                 key=\"key0\">{admin}</data>\n    </edge>"
            );
            edge += 1;
        }
    }
    xml + "  </graph>\n</graphml>\n"
}
