import Query
import QueryReplay
import QuerySQLite
import SystemNetwork
import ToolSupport
