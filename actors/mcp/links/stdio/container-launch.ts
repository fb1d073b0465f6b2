// Launch of a server whose command is `docker run` or `podman run`: the arguments identify the container, so
// that the gateway can end it together with the client process (state/container.ts).

import { containerRunIn } from '../../../../config/catalog/container-run.ts';
import { type Container, identifyingOptions, newContainerToken } from '../../../state/container.ts';
import type { Launch } from './start-failure.ts';

export interface ContainerLaunch {
  readonly args: readonly string[];
  readonly container: Container;
  /** Advice for a failed start, if the options prevent that the gateway reaches the server. */
  readonly advice: string | undefined;
}

/** Variables by which the clients of the engines find their engine, without credentials. */
const engineVariables = [
  ...['PATH', 'HOME', 'TMPDIR', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'],
  ...['DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'DOCKER_CERT_PATH', 'DOCKER_TLS_VERIFY'],
  ...['CONTAINER_HOST', 'CONTAINER_CONNECTION', 'CONTAINERS_CONF', 'CONTAINERS_STORAGE_CONF'],
];

/** Returns the launch; undefined for a command that runs no container. */
export function containerLaunch(
  { command, args, cwd, env }: Launch,
  server: string,
): ContainerLaunch | undefined {
  const run = containerRunIn(command, args);
  if (run === undefined) return undefined;
  const container = {
    engine: command,
    engineArgs: args.slice(0, run.subcommandAt),
    cwd,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => engineVariables.includes(name))),
    token: newContainerToken(),
    // Without `--name` in the command the gateway gives the container a name.
    hasOwnName: !run.hasName,
    isRemoved: run.isRemoved,
  };
  const head = args.slice(0, run.headLength);
  const rest = args.slice(run.headLength);
  return { args: [...head, ...identifyingOptions(container, server), ...rest], container, advice: run.fault };
}
