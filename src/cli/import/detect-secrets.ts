// Detects secrets in a server's entry and replaces them: values whose name looks like a credential
// (variables, headers, options such as `--api-key VALUE`), headers in arguments, passwords and keys in
// addresses, and tokens in the format of known services.

import { isCredentialName } from '../../../config/credentials/credential-names.ts';
import { knownTokens } from '../../../config/reader/key-forms.ts';

/** Part of the text to replace, and a name for its variable. */
interface Secret {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

interface VariableOptions {
  /** True: the variable's name should contain the server's id. */
  readonly isOfServer: boolean;
}

/** Returns the replacement for a secret: a reference to a variable with this name or a similar one. */
export type ReplaceSecret = (value: string, name: string, options: VariableOptions) => string;

const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const opaque = `(?=[\\w=]*\\d[\\w=]*\\d[\\w=]*\\d)(?=[\\w=]*[A-Za-z])[\\w=]{20,}`;

/** Secrets in addresses: password before the host, query parameters, and path segments that look random. */
const inAddresses = [
  { pattern: /\b[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:([^\s/?#@]+)@/gi, name: 'PASSWORD' },
  { pattern: /[?&;]([\w.-]+)=([^&;#\s]+)/g, name: undefined },
  { pattern: new RegExp(`(?<=[:/\\w])/(${uuid}|${opaque})(?=[/?#\\s]|$)`, 'g'), name: 'URL_KEY' },
];

/** Replaces everything in a text that looks like a secret, except references to variables. */
export function replaceSecrets(text: string, replace: ReplaceSecret): string {
  const secrets: Secret[] = [];
  for (const match of text.matchAll(knownTokens)) secrets.push(span(match.index, match[0], 'TOKEN'));
  for (const { pattern, name } of inAddresses) {
    if (!text.includes('://')) break;
    for (const match of text.matchAll(pattern)) {
      const value = match.at(-1) ?? '';
      const key = match[1] ?? '';
      const isOpaque = new RegExp(`^(?:${uuid}|${opaque})$`).test(value);
      if (name === undefined && !isCredentialName(key) && !isOpaque) continue;
      secrets.push(span(match.index + match[0].lastIndexOf(value), value, name ?? key));
    }
  }
  const plain = secrets.filter(({ start, end }) => !text.slice(start, end).includes('${'));
  return plain
    .sort((a, b) => a.start - b.start)
    .filter(({ start }, index, all) => all.slice(0, index).every(({ end }) => end <= start))
    .reduceRight((rest, { start, end, name }) => {
      return (
        rest.slice(0, start) + replace(rest.slice(start, end), name, { isOfServer: true }) + rest.slice(end)
      );
    }, text);
}

const span = (start: number, value: string, name: string): Secret => ({
  start,
  end: start + value.length,
  name,
});

/** Replaces the whole value if its name looks like a credential; otherwise only secrets inside it. */
export function replaceNamedValue(
  name: string,
  value: string,
  replace: ReplaceSecret,
  options: VariableOptions,
): string {
  if (value === '' || value.includes('${') || /^(?:true|false)$/i.test(value) || !isCredentialName(name))
    return replaceSecrets(value, replace);
  return replace(value, name, options);
}

/** Replaces secrets in a header value. Keeps the scheme before credentials (`Bearer`). */
export function replaceHeaderValue(header: string, value: string, replace: ReplaceSecret): string {
  const isCredential = /^(?:proxy-)?authorization$|^cookie$/i.test(header);
  if (!isCredential)
    return replaceNamedValue(header.replace(/^x-/i, ''), value, replace, { isOfServer: true });
  const [, scheme = '', credentials = value] = /^([A-Za-z][\w-]*\s+)(\S.*)$/.exec(value) ?? [];
  if (credentials === '' || credentials.includes('${')) return replaceSecrets(value, replace);
  return scheme + replace(credentials, /^cookie$/i.test(header) ? 'COOKIE' : 'TOKEN', { isOfServer: true });
}

const headerOptions = /^(?:-H|--headers?)$/;

/** Replaces secrets in arguments. Option values follow `=` or are the next argument. */
export function replaceInArguments(args: readonly string[], replace: ReplaceSecret): string[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? '';
    const [, option = '', value = ''] = /^(--?[\w-]+)=(.*)$/s.exec(arg) ?? [];
    if (headerOptions.test(before)) return replaceInHeaderLine(arg, replace);
    if (headerOptions.test(option)) return `${option}=${replaceInHeaderLine(value, replace)}`;
    if (option !== '')
      return `${option}=${replaceNamedValue(option.replace(/^-+/, ''), value, replace, { isOfServer: true })}`;
    const [, name = '', assignedValue = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(arg) ?? [];
    if (name !== '')
      return `${name}=${replaceNamedValue(name, assignedValue, replace, { isOfServer: false })}`;
    if (/^--?[A-Za-z]/.test(before) && !arg.startsWith('-'))
      return replaceNamedValue(before.replace(/^-+/, ''), arg, replace, { isOfServer: true });
    return replaceSecrets(arg, replace);
  });
}

function replaceInHeaderLine(line: string, replace: ReplaceSecret): string {
  const [, name = '', gap = '', value = ''] = /^([\w-]+)(:\s*)(.*)$/s.exec(line) ?? [];
  return name === '' ? replaceSecrets(line, replace) : name + gap + replaceHeaderValue(name, value, replace);
}
