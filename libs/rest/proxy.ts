// Forward proxies from HTTP_PROXY, HTTPS_PROXY and NO_PROXY, also in lower case, which take precedence as in
// curl. Loopback addresses are never requested through a proxy.

import { BlockList, isIP } from 'node:net';
import { isLoopback, withoutBrackets } from './host.ts';

type ProxyVariables = Readonly<Record<string, string | undefined>>;

/** A proxy variable with an unusable value. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

/**
 * Returns the proxy for requests to a URL; undefined for a direct connection. Throws ProxyError if the
 * variable has no HTTP URL.
 */
export function proxyFor(url: URL, env: ProxyVariables = process.env): URL | undefined {
  const { protocol, hostname, port } = url;
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const value = variable(env, name);
  if (value === '' || isLoopback(hostname) || hostname.endsWith('.localhost')) return undefined;
  const host = withoutBrackets(hostname).toLowerCase();
  const effectivePort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  const exceptions = variable(env, 'NO_PROXY')
    .toLowerCase()
    .split(/[\s,]+/);
  return exceptions.some((each) => matches(each, host, effectivePort)) ? undefined : proxyUrl(name, value);
}

/** Returns true if the environment names a proxy. Throws ProxyError like `proxyFor`. */
export function hasProxy(env: ProxyVariables = process.env): boolean {
  const named = ['HTTP_PROXY', 'HTTPS_PROXY'].filter((name) => variable(env, name) !== '');
  for (const name of named) proxyUrl(name, variable(env, name));
  return named.length > 0;
}

/**
 * Returns the value of `proxy-authorization`; undefined for a proxy without credentials. Throws URIError for
 * an invalid percent encoding.
 */
export function proxyCredentials({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

const variable = (env: ProxyVariables, name: string): string =>
  (env[name.toLowerCase()] || env[name] || '').trim();

/** Accepts `host:port` as well, like curl. The error omits the value, which may contain a password. */
function proxyUrl(name: string, value: string): URL {
  try {
    const url = new URL(value.includes('://') ? value : `http://${value}`);
    proxyCredentials(url);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  } catch {}
  throw new ProxyError(`${name} must be the URL of an HTTP proxy, such as http://proxy.example:3128`);
}

/** Matches `*`, a domain with its subdomains, an address or a network (10.0.0.0/8), also with a port. */
function matches(exception: string, host: string, port: string): boolean {
  if (exception === '*') return true;
  const network = /^(.+)\/(\d+)$/.exec(exception);
  if (network !== null) return isInNetwork(network[1] ?? '', Number(network[2]), host);
  const [, name = '', exceptionPort = port] =
    isIP(exception) === 6 ? [exception, exception] : (/^(.*?)(?::(\d+))?$/.exec(exception) ?? []);
  const domain = withoutBrackets(name).replace(/^\*?\./, '');
  return domain !== '' && exceptionPort === port && (host === domain || host.endsWith(`.${domain}`));
}

function isInNetwork(address: string, prefix: number, host: string): boolean {
  const type = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  try {
    list.addSubnet(address, prefix, type);
  } catch {
    return false;
  }
  return isIP(host) !== 0 && list.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}
