select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer, orders force index (i_o_custkey), lineitem force index (i_l_orderkey)
where c_mktsegment = 'AUTOMOBILE' and c_custkey = o_custkey and l_orderkey = o_orderkey
  and o_orderdate < '1995-03-09' and l_shipdate > '1995-03-09'
group by l_orderkey, o_orderdate, o_shippriority
order by revenue desc, o_orderdate limit 10;
