// A registry entry's unusual items: variables that steer programs, options of the program that runs the package, a foreign package
// registry, a private address. Entries are written by strangers, so each item needs permission by name.
//
// UNI1  items are read from the values to write, never from the entry: templates, defaults and answers cannot hide an item.

import type { RegistryPackage } from '../../../actors/mcp/registry/registry-entry.ts';
import { otherWords } from './harmless-options.ts';
import { imageOf } from './package-command.ts';
import { riskOfAddress } from './risky-addresses.ts';
import { steeringEffect } from './steering-variables.ts';

export interface UnusualItem {
  /** Name for --allow. */
  readonly name: string;
  /** Value, unless the name contains it. */
  readonly value?: string;
  readonly reason: string;
}

/** Returns the steering variables. */
export function unusualVariables(env: Readonly<Record<string, string>>): UnusualItem[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const effect = steeringEffect(name);
    return effect === undefined ? [] : [{ name: `env:${name}`, value, reason: `it can change ${effect}` }];
  });
}

/** Returns the arguments between program and package not known to be harmless. */
export function unusualOptions(program: string, words: readonly string[]): UnusualItem[] {
  const reason =
    program === 'docker' || program === 'podman'
      ? 'it can give the container a part of this machine'
      : `it can make ${program} run other code`;
  return otherWords(program, words).map((word) => ({ name: `option:${word}`, reason }));
}

/** Usual image registries. */
const imageHosts =
  /^(?:docker\.io|index\.docker\.io|registry-1\.docker\.io|ghcr\.io|quay\.io|mcr\.microsoft\.com|public\.ecr\.aws|registry\.gitlab\.com|registry\.k8s\.io|gcr\.io|[a-z]+\.gcr\.io|[a-z0-9-]+-docker\.pkg\.dev)$/;

/** Returns the package registry, unless it is a usual one. */
export function unusualSource(given: RegistryPackage, program: string): UnusualItem[] {
  const reason = 'it is not a usual package registry';
  if (given.registryType === 'oci') {
    const image = imageOf(program, given);
    const [host = ''] = image.split('/');
    const hasHost = image.includes('/') && /[.:]|^localhost$/.test(host);
    return hasHost && !imageHosts.test(host) ? [{ name: `source:${host}`, reason }] : [];
  }
  const address = given.registryBaseUrl;
  const isUsual =
    address === undefined || /^https:\/\/(?:registry\.npmjs\.org|pypi\.org)(?:\/|$)/.test(address);
  return isUsual ? [] : [{ name: `source:${address}`, reason }];
}

/** Returns a risky address's origin. */
export function unusualAddress(address: string): UnusualItem[] {
  const reason = riskOfAddress(address);
  const name = URL.canParse(address) ? new URL(address).origin : address;
  return reason === undefined ? [] : [{ name: `address:${name}`, reason }];
}
