select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name, c_address, c_phone, c_comment
from customer force index (primary), orders force index (i_o_orderdate), lineitem force index (primary), nation
where c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate >= '1993-08-01'
  and o_orderdate < date_add('1993-08-01', interval '3' month) and l_returnflag = 'R' and c_nationkey = n_nationkey
group by c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
order by revenue desc limit 20;
