select p_brand, p_type, p_size, count(distinct ps_suppkey) as supplier_cnt
from partsupp, part
where p_partkey = ps_partkey and p_brand <> 'Brand#23' and p_type not like 'LARGE PLATED%'
  and p_size in (43, 1, 25, 5, 35, 12, 42, 40)
  and not exists (select 1 from supplier where s_suppkey = ps_suppkey and s_comment like '%Customer%Complaints%')
group by p_brand, p_type, p_size
order by supplier_cnt desc, p_brand, p_type, p_size;
