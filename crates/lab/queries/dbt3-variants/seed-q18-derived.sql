select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(lineitem.l_quantity)
from customer, orders, lineitem,
     (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 313) l2
where o_orderkey = l2.l_orderkey and c_custkey = o_custkey and o_orderkey = lineitem.l_orderkey
group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
order by o_totalprice desc, o_orderdate limit 100;
