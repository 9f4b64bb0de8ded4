"""`scipy.sparse.csgraph` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from typing import Any
from scipy.sparse.csgraph import NegativeCycleError as NegativeCycleError

def bellman_ford(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any: ...
def breadth_first_order(
    csgraph: Any,
    i_start: Any,
    directed: bool = True,
    return_predecessors: bool = True,
) -> Any: ...
def breadth_first_tree(csgraph: Any, i_start: Any, directed: bool = True) -> Any: ...
def connected_components(
    csgraph: Any,
    directed: bool = True,
    connection: Any = 'weak',
    return_labels: bool = True,
) -> Any: ...
def construct_dist_matrix(
    graph: Any,
    predecessors: Any,
    directed: bool = True,
    null_value: Any = ...,
) -> Any: ...
def csgraph_from_dense(
    graph: Any,
    null_value: Any = 0,
    nan_null: bool = True,
    infinity_null: bool = True,
) -> Any: ...
def csgraph_from_masked(graph: Any) -> Any: ...
def csgraph_masked_from_dense(
    graph: Any,
    null_value: Any = 0,
    nan_null: bool = True,
    infinity_null: bool = True,
    copy: bool = True,
) -> Any: ...
def csgraph_to_dense(csgraph: Any, null_value: Any = 0) -> Any: ...
def csgraph_to_masked(csgraph: Any) -> Any: ...
def depth_first_order(
    csgraph: Any,
    i_start: Any,
    directed: bool = True,
    return_predecessors: bool = True,
) -> Any: ...
def depth_first_tree(csgraph: Any, i_start: Any, directed: bool = True) -> Any: ...
def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: Any = ...,
    min_only: bool = False,
) -> Any: ...
def floyd_warshall(
    csgraph: Any,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
) -> Any: ...
def johnson(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any: ...
def laplacian(
    csgraph: Any,
    normed: bool = False,
    return_diag: bool = False,
    use_out_degree: bool = False,
    *,
    copy: bool = True,
    form: Any = 'array',
    dtype: Any = None,
    symmetrized: bool = False,
) -> Any: ...
def maximum_bipartite_matching(graph: Any, perm_type: Any = 'row') -> Any: ...
def maximum_flow(csgraph: Any, source: Any, sink: Any, *, method: Any = 'dinic') -> Any: ...
def min_weight_full_bipartite_matching(biadjacency: Any, maximize: bool = False) -> Any: ...
def minimum_spanning_tree(csgraph: Any, overwrite: bool = False) -> Any: ...
def reconstruct_path(csgraph: Any, predecessors: Any, directed: bool = True) -> Any: ...
def reverse_cuthill_mckee(graph: Any, symmetric_mode: bool = False) -> Any: ...
def shortest_path(
    csgraph: Any,
    method: Any = 'auto',
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
) -> Any: ...
def structural_rank(graph: Any) -> Any: ...
def yen(
    csgraph: Any,
    source: Any,
    sink: Any,
    K: Any,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any: ...
