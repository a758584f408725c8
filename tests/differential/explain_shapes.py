"""The shape of MySQL's first JSON format, as tools that draw it read it: a member that is not known is a fault."""

COST = {"read_cost", "eval_cost", "prefix_cost", "data_read_per_join"}
TEXT, NUMBER, TRUTH, TEXTS = "text", "number", "truth", "texts"

TABLE = {
    "insert": TRUTH, "update": TRUTH, "delete": TRUTH, "replace": TRUTH, "table_name": TEXT, "partitions": TEXTS, "access_type": TEXT,
    "possible_keys": TEXTS, "key": TEXT, "used_key_parts": TEXTS, "key_length": TEXT, "ref": TEXTS, "rows_examined_per_scan": NUMBER,
    "rows_produced_per_join": NUMBER, "filtered": TEXT, "index_condition": TEXT, "using_index": TRUTH, "using_MRR": TRUTH,
    "using_index_for_group_by": (TRUTH, TEXT), "using_index_for_skip_scan": TRUTH, "backward_index_scan": TRUTH, "not_exists": TRUTH,
    "first_match": TEXT, "loosescan": TRUTH, "start_temporary": TRUTH, "end_temporary": TRUTH, "using_join_buffer": TEXT, "distinct": TRUTH,
    "full_scan_on_null_key": TRUTH, "range_checked_for_each_record": TEXT, "skip_open_table": TRUTH, "open_frm_only": TRUTH,
    "open_full_table": TRUTH, "scanned_databases": (TEXT, NUMBER), "pushed_condition": TEXT, "message": TEXT, "cost_info": "cost",
    "used_columns": TEXTS, "attached_condition": TEXT, "materialized_from_subquery": "materialized",
    "attached_subqueries": "subqueries", "const_row_not_found": TRUTH, "rematerialize": TRUTH, "key_cond": TEXT,
    # Muster's own.
    "using_merge_join": TRUTH, "using_late_row_fetch": TRUTH, "fallback": TEXT, "shared_rows": NUMBER,
    "actual_loops": NUMBER, "actual_rows": NUMBER, "actual_first_row_ms": NUMBER, "actual_last_row_ms": NUMBER,
}
OPERATION = {
    "using_temporary_table": TRUTH, "using_filesort": TRUTH, "cost_info": "sort_cost", "table": "table", "nested_loop": "loop",
    "grouping_operation": "operation", "duplicates_removal": "operation", "buffer_result": "operation", "windowing": "windowing",
    "message": TEXT, "group_by_subqueries": "subqueries", "order_by_subqueries": "subqueries",
    "optimized_away_subqueries": "subqueries",
}
SUBQUERIES = {name: "subqueries" for name in (
    "select_list_subqueries", "having_subqueries", "order_by_subqueries", "group_by_subqueries", "optimized_away_subqueries",
    "update_value_subqueries", "insert_values_subqueries", "attached_subqueries")}
SHAPES = {
    "block": {"select_id": NUMBER, "message": TEXT, "cost_info": "query_cost", "table": "table", "nested_loop": "loop",
              "ordering_operation": "operation", "grouping_operation": "operation", "duplicates_removal": "operation",
              "buffer_result": "operation", "windowing": "windowing", "union_result": "union", "insert_from": "operation", **SUBQUERIES},
    "table": TABLE,
    "operation": {**OPERATION, "ordering_operation": "operation", "union_result": "union", **SUBQUERIES},
    "cost": {name: TEXT for name in COST},
    "query_cost": {"query_cost": TEXT},
    "sort_cost": {"sort_cost": TEXT},
    "materialized": {"using_temporary_table": TRUTH, "dependent": TRUTH, "cacheable": TRUTH, "query_block": "block",
                     "sharing_temporary_table_with": "shared"},
    "shared": {"select_id": NUMBER},
    "union": {"using_temporary_table": TRUTH, "using_filesort": TRUTH, "select_id": NUMBER, "table_name": TEXT, "access_type": TEXT,
              "query_specifications": "subqueries", "cost_info": "query_cost", "message": TEXT, "rows_examined_per_scan": NUMBER,
              "ordering_operation": "union"},
    "subquery": {"dependent": TRUTH, "cacheable": TRUTH, "query_block": "block", "using_temporary_table": TRUTH, "table": "table"},
}
# Costs and estimates, and what follows from them.
ESTIMATES = {"rows_examined_per_scan", "rows_produced_per_join", "filtered", "query_cost", "sort_cost", *COST}


# The steps of MySQL's join_optimization.
TRACE_STEPS = {
    "condition_processing", "substitute_generated_columns", "table_dependencies", "ref_optimizer_key_uses", "rows_estimation",
    "considered_execution_plans", "attaching_conditions_to_tables", "finalizing_table_conditions", "refine_plan",
}


def faults(document):
    """What a reader of the format would not understand."""
    if isinstance(document, int):
        return []
    if list(document) != ["query_block"]:
        return [f"members {list(document)}"]
    found = []
    check(document["query_block"], "block", "query_block", found)
    return found


def check(value, shape, place, found):
    if isinstance(shape, tuple):
        attempts = []
        for one in shape:
            attempts.append([])
            check(value, one, place, attempts[-1])
        if all(attempts):
            found.extend(attempts[0])
    elif shape in (TEXT, NUMBER, TRUTH):
        wanted = {TEXT: str, NUMBER: (int, float), TRUTH: bool}[shape]
        if not isinstance(value, wanted) or shape == NUMBER and isinstance(value, bool):
            found.append(f"{place} is no {shape}: {value!r}")
    elif shape == TEXTS:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            found.append(f"{place} is no list of texts: {value!r}")
    elif shape in ("loop", "subqueries"):
        if not isinstance(value, list):
            found.append(f"{place} is no list")
            return
        for at, one in enumerate(value):
            if shape == "loop" and list(one) != ["table"]:
                found.append(f"{place}[{at}] has {list(one)}")
            check(one["table"] if shape == "loop" else one, "table" if shape == "loop" else "subquery", f"{place}[{at}]", found)
    elif shape == "windowing":
        pass
    elif not isinstance(value, dict):
        found.append(f"{place} is no object")
    else:
        for name, member in value.items():
            known = SHAPES[shape].get(name)
            if known is None:
                found.append(f"{place} has an unknown member {name!r}")
            else:
                check(member, known, f"{place}.{name}", found)


def differences(mine, his, place="query_block"):
    """Members that differ, with their place: estimates aside."""
    if place == "query_block":
        mine, his = mine["query_block"], his["query_block"]
    if isinstance(mine, dict) and isinstance(his, dict):
        for name in [*mine, *(name for name in his if name not in mine)]:
            if name in ESTIMATES and (name in mine) == (name in his):
                continue
            if name not in mine or name not in his:
                yield f"{place}.{name}", mine.get(name), his.get(name)
            else:
                yield from differences(mine[name], his[name], f"{place}.{name}")
        common = [name for name in mine if name in his], [name for name in his if name in mine]
        if common[0] != common[1]:
            yield f"{place} order", common[0], common[1]
    elif isinstance(mine, list) and isinstance(his, list) and len(mine) == len(his):
        for at, (one, other) in enumerate(zip(mine, his)):
            yield from differences(one, other, f"{place}[{at}]")
    elif mine != his:
        yield place, mine, his
