select avg(l_extendedprice) from lineitem force index (i_l_shipdate) where l_shipdate between '1995-03-01' and '1995-03-31';
