#!/bin/sh
# An MCP server in a container that ignores SIGTERM and the end of its stdin. With the argument `mute` it
# answers nothing.
trap '' TERM
while read -r line; do
  [ "$1" = mute ] && continue
  id=${line#*'"id":'}
  id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"box","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[]}' ;;
    *'"ping"'*) result='{}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
while :; do sleep 1; done
