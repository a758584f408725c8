//! The queries of DBT-3 and SSB, and the articles' variants.

use super::*;
use std::path::PathBuf;

fn files(folder: &str) -> Vec<(String, String)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../lab/queries").join(folder);
    let mut found: Vec<(String, String)> = std::fs::read_dir(&path)
        .unwrap_or_else(|e| panic!("{path:?}: {e}"))
        .map(|entry| entry.unwrap().path())
        .map(|p| (p.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(p).unwrap()))
        .collect();
    found.sort();
    found
}

fn names(bound: &Bound) -> Vec<&str> {
    bound.outputs.iter().map(|(_, n)| n.as_str()).collect()
}

fn types(bound: &Bound) -> Vec<String> {
    bound.outputs.iter().map(|(id, _)| bound.columns.ty(*id).to_string()).collect()
}

#[test]
fn all_dbt3_queries_bind() {
    let queries = files("dbt3");
    assert_eq!(queries.len(), 22);
    for (_, sql) in queries {
        bind(&sql);
    }
}

#[test]
fn all_variants_bind() {
    let mut count = 0;
    for (name, sql) in files("dbt3-variants") {
        for text in crate::split(&sql) {
            if let Statement::CreateView(view) = parse(text).unwrap_or_else(|e| panic!("{name}: {e}")) {
                bind(&view.query_text);
            } else if text.starts_with("select") {
                bind(text);
            }
            count += 1;
        }
    }
    assert!(count >= 10);
}

#[test]
fn all_ssb_queries_bind() {
    let catalog = TestCatalog::shared();
    let session = TestSession { database: Some("ssb".into()), ..TestSession::default() };
    let env = BindEnv { catalog, session: &session, parameters: Parameters::Values(&[]) };
    for (name, sql) in files("ssb").into_iter().chain(files("ssb-variants")) {
        for text in crate::split(&sql) {
            let Statement::Query(query) = parse(text).unwrap() else { panic!("{name}") };
            let bound = bind_query(&query, &env).unwrap_or_else(|e| panic!("{name}: {e}"));
            check(&bound, &name);
        }
    }
}

#[test]
fn q1_has_mysqls_types() {
    let bound = bind(&files("dbt3")[0].1);
    assert_eq!(names(&bound)[2..5], ["sum_qty", "sum_base_price", "sum_disc_price"]);
    let want = [
        "char(1)",
        "char(1)",
        "decimal(37,2)",
        "decimal(37,2)",
        "decimal(53,4)",
        "decimal(65,6)",
        "decimal(19,6)",
        "decimal(19,6)",
        "decimal(19,6)",
        "bigint",
    ];
    assert_eq!(types(&bound), want);
    assert_eq!(
        print(&bound),
        "sort lineitem.l_returnflag, lineitem.l_linestatus\n\
         \x20 aggregate [lineitem.l_returnflag, lineitem.l_linestatus] sum(lineitem.l_quantity), \
         sum(lineitem.l_extendedprice), sum((lineitem.l_extendedprice mul (1 sub lineitem.l_discount))), \
         sum(((lineitem.l_extendedprice mul (1 sub lineitem.l_discount)) mul (1 add lineitem.l_tax))), \
         avg(lineitem.l_quantity), avg(lineitem.l_extendedprice), avg(lineitem.l_discount), count()\n\
         \x20   filter lineitem.l_shipdate <= DATE'1998-09-02'\n\
         \x20     get lineitem\n"
    );
}

#[test]
fn constants_take_the_columns_types() {
    let bound = bind(&files("dbt3")[5].1);
    let text = print(&bound);
    let want = "filter lineitem.l_shipdate >= DATE'1994-01-01', lineitem.l_shipdate < DATE'1995-01-01', \
                lineitem.l_discount >= 0.05, lineitem.l_discount <= 0.07, lineitem.l_quantity < 24.00\n";
    assert!(text.contains(want), "{text}");
    let text = print(&bind(include_str!("../../../../lab/queries/dbt3-variants/seed-q10.sql")));
    assert!(text.contains("orders.o_orderdate < DATE'1993-11-01'"), "{text}");
}

#[test]
fn subqueries_know_their_outer_columns() {
    let text = print(&bind(&files("dbt3")[16].1));
    assert!(text.contains("lineitem.l_quantity"), "{text}");
    assert!(text.contains("scalar of part.p_partkey {"), "{text}");
    let text = print(&bind(&files("dbt3")[20].1));
    assert!(text.contains("exists of l1.l_orderkey, l1.l_suppkey {"), "{text}");
    assert!(text.contains("not exists of l1.l_orderkey, l1.l_suppkey {"), "{text}");
}

#[test]
fn tables_are_listed_for_privileges() {
    let mut tables = bind(&files("dbt3")[2].1).tables;
    tables.sort();
    let want = ["customer", "lineitem", "orders"].map(|t| ("test".to_string(), t.to_string()));
    assert_eq!(tables, want);
    // A view's tables are its definer's affair.
    assert_eq!(bind("select * from simple").tables, [("test".to_string(), "simple".to_string())]);
}
