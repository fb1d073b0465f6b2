#!/bin/sh
# Shell for npx while the gateway installs a package (script-shell of npm). It runs the scripts of the packages,
# but not the program: npx runs that as the script "npx".
[ "$npm_lifecycle_event" = npx ] && exit 0
exec sh "$@"
