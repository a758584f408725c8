select avg(l_extendedprice) from lineitem where l_shipdate between '1995-03-01' and '1995-03-31';
