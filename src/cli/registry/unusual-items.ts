// Detects the unusual items in a registry entry, which need the user's permission because entries are foreign
// content: variables that change the behaviour of programs, options of the program that runs the package, an
// unusual package registry, a private address.
//
// The functions receive the final values, not the templates of the entry. So templates, defaults and answers
// cannot hide an item.

import type { RegistryPackage } from '../../../actors/mcp/registry/entry.ts';
import { nonHarmlessWords } from './harmless-options.ts';
import { imageOf } from './package-command.ts';
import { riskOfAddress } from './risky-addresses.ts';
import { steeringEffect } from './steering-variables.ts';

export interface UnusualItem {
  /** Name for --allow. */
  readonly name: string;
  /** Value; undefined if the name contains it. */
  readonly value?: string;
  readonly reason: string;
}

/** Returns an item per variable that changes the behaviour of programs. */
export function unusualVariables(env: Readonly<Record<string, string>>): UnusualItem[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const effect = steeringEffect(name);
    return effect === undefined ? [] : [{ name: `env:${name}`, value, reason: `it can change ${effect}` }];
  });
}

/** Returns an item per option of the program that is not known to be harmless. */
export function unusualOptions(program: string, words: readonly string[]): UnusualItem[] {
  const reason =
    program === 'docker' || program === 'podman'
      ? 'it can give the container a part of this machine'
      : `it can make ${program} run other code`;
  return nonHarmlessWords(program, words).map((word) => ({ name: `option:${word}`, reason }));
}

/** Hosts of the usual registries for images. */
const imageHosts =
  /^(?:docker\.io|index\.docker\.io|registry-1\.docker\.io|ghcr\.io|quay\.io|mcr\.microsoft\.com|public\.ecr\.aws|registry\.gitlab\.com|registry\.k8s\.io|gcr\.io|[a-z]+\.gcr\.io|[a-z0-9-]+-docker\.pkg\.dev)$/;

/** Returns an item for the package registry, unless it is a usual one. */
export function unusualSource(registryPackage: RegistryPackage, program: string): UnusualItem[] {
  const reason = 'it is not a usual package registry';
  if (registryPackage.registryType === 'oci') {
    const image = imageOf(program, registryPackage);
    const [host = ''] = image.split('/');
    const hasHost = image.includes('/') && /[.:]|^localhost$/.test(host);
    return hasHost && !imageHosts.test(host) ? [{ name: `source:${host}`, reason }] : [];
  }
  const address = registryPackage.registryBaseUrl;
  const isDefaultRegistry =
    address === undefined || /^https:\/\/(?:registry\.npmjs\.org|pypi\.org)(?:\/|$)/.test(address);
  return isDefaultRegistry ? [] : [{ name: `source:${address}`, reason }];
}

/** Returns an item if the remote server's address is risky. */
export function unusualAddress(address: string): UnusualItem[] {
  const reason = riskOfAddress(address);
  const name = URL.canParse(address) ? new URL(address).origin : address;
  return reason === undefined ? [] : [{ name: `address:${name}`, reason }];
}
