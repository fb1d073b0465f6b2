// Detects secrets in a server's entry and replaces them. A secret has a name that looks like a credential
// (variables, headers, options, parameters, members of JSON, `key=value;` lists), follows a scheme such as
// `Bearer`, is a password or key in an address, or has the token format of a known service.

import { isCredentialName } from '../../../config/credentials/credential-names.ts';
import { knownTokens } from '../../../config/reader/key-forms.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { parseYamlTree, type YamlTree } from '../../../config/reader/yaml-tree.ts';

/** Part of a text that is a secret, and a name for its variable. */
export interface Secret {
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
const opaqueText = new RegExp(`^(?:${uuid}|${opaque})$`);

/**
 * Secrets in addresses: password and opaque user name before the host, parameters of query and fragment, and
 * path segments that look random.
 */
const inAddresses = [
  { pattern: /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/?#:@]*:([^\s/?#@]+)@/gi, name: 'PASSWORD' },
  { pattern: new RegExp(`://(${uuid}|${opaque})(?=[:@])`, 'g'), name: 'URL_KEY' },
  { pattern: /[?&;#]([\w.-]+)=([^&;#\s]+)/g, name: undefined },
  { pattern: new RegExp(`(?<=[:/\\w])/(${uuid}|${opaque})(?=[/?#\\s]|$)`, 'g'), name: 'URL_KEY' },
];

const scheme = /^(?:Bearer|Basic|Token|ApiKey|Api-Key|Bot)\s+/i;

/** Words after a scheme in descriptions, which are no credentials: `Bearer authentication`. */
const wordAfterScheme = /^(?:auth\w*|tokens?|keys?|credentials?|schemes?|headers?|access)[.,]?$/i;

/** `name=value` and `name: value`; the value of a list that uses semicolons extends to the next one. */
const pair =
  /(?<![\w./?&#-])([A-Za-z_][\w.-]*)\s*(?:=|:(?!\/\/))\s*("[^"]*"|'[^']*'|[^\s"'&;,{}]+(?:(?<=[\s:=](?:Bearer|Basic|Token))\s+[^\s"'&;,{}]+)?)/gi;
const listItem = /(?:^|;)\s*([A-Za-z_][\w.-]*(?: +[\w.-]+)*)\s*=\s*("[^"]*"|'[^']*'|[^;]*)/g;
const semicolonList = /^\s*[A-Za-z_][\w .-]*=[^;]*;/;

/** Returns the secrets in a text in order, except references to variables. They do not overlap. */
export function secretsIn(text: string): readonly Secret[] {
  const found = secretsInJson(text) ?? secretsInText(text);
  const references = [...text.matchAll(/\$\{(?:(?!\$\{)[^}])*\}/g)];
  const secrets: Secret[] = [];
  let end = 0;
  for (const secret of [...found].sort((a, b) => a.start - b.start || b.end - a.end)) {
    // A `$` before the reference would escape it.
    const start = text[secret.start - 1] === '$' ? secret.start - 1 : secret.start;
    const isInReference = references.some(
      ({ 0: reference, index }) => start < index + reference.length && secret.end > index,
    );
    const overlapsPrevious = start < end;
    const isEmpty = start === secret.end;
    if (overlapsPrevious || isEmpty || isInReference) continue;
    secrets.push({ ...secret, start });
    end = secret.end;
  }
  return secrets;
}

/** Part of a text: a secret, if it has a name, or the text between secrets. */
interface SecretPart {
  readonly text: string;
  readonly name?: string;
}

/** Splits a text into its secrets and the text between them, without empty parts. */
export function splitSecrets(text: string, secrets: readonly Secret[]): readonly SecretPart[] {
  const parts: SecretPart[] = [];
  let done = 0;
  for (const { start, end, name } of secrets) {
    if (start > done) parts.push({ text: text.slice(done, start) });
    parts.push({ text: text.slice(start, end), name });
    done = end;
  }
  if (done < text.length) parts.push({ text: text.slice(done) });
  return parts;
}

/** Replaces everything in a text that looks like a secret, except references to variables. */
export function replaceSecrets(text: string, replace: ReplaceSecret): string {
  return replaceAll(text, secretsIn(text), replace, true);
}

function replaceAll(
  text: string,
  secrets: readonly Secret[],
  replace: ReplaceSecret,
  isOfServer: boolean,
): string {
  return splitSecrets(text, secrets)
    .map((part) => (part.name === undefined ? part.text : replace(part.text, part.name, { isOfServer })))
    .join('');
}

function secretsInText(text: string): Secret[] {
  const tokens = [...text.matchAll(knownTokens)].map(({ 0: token, index }) => span(index, token, 'TOKEN'));
  return [...tokens, ...afterScheme(text), ...secretsInPairs(text), ...secretsInAddresses(text)];
}

/** Returns the credentials of a text such as `Bearer abc`. */
function afterScheme(text: string): Secret[] {
  const [word] = scheme.exec(text) ?? [];
  const credentials = word === undefined ? '' : text.slice(word.length);
  if (credentials === '' || /\s/.test(credentials) || wordAfterScheme.test(credentials)) return [];
  return [span(text.length - credentials.length, credentials, 'TOKEN')];
}

function secretsInPairs(text: string): Secret[] {
  const pattern = semicolonList.test(text) ? listItem : pair;
  return [...text.matchAll(pattern)].flatMap(({ 0: whole, 1: name = '', 2: written = '', index }) => {
    if (!isCredentialName(name)) return [];
    const quoted = /^(["'])(.*)\1$/s.exec(written)?.[2];
    const start = index + whole.length - written.length + (quoted === undefined ? 0 : 1);
    return credentialsAt(start, (quoted ?? written).trimEnd(), name);
  });
}

function secretsInAddresses(text: string): Secret[] {
  const isAddress = text.includes('://');
  return inAddresses.flatMap(({ pattern, name }) =>
    // Parameters may also be in a relative address.
    (!isAddress && name !== undefined ? [] : [...text.matchAll(pattern)]).flatMap((match) => {
      const value = match.at(-1) ?? '';
      const key = match[1] ?? '';
      if (name === undefined && !isCredentialName(key) && !opaqueText.test(value)) return [];
      return [span(match.index + match[0].lastIndexOf(value), value, name ?? key)];
    }),
  );
}

/** Returns the secrets in the texts of an object or list; undefined if the text is not JSON. */
function secretsInJson(text: string): Secret[] | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  const { root, problems } = parseYamlTree(new SourceFile('value.json', text));
  if (root === undefined || root.kind === 'scalar' || problems.length > 0) return undefined;
  return secretsBelow(root, '', text);
}

function secretsBelow(tree: YamlTree, name: string, text: string): Secret[] {
  if (tree.kind === 'list') return tree.items.flatMap((item) => secretsBelow(item, name, text));
  if (tree.kind === 'map')
    return tree.pairs.flatMap(({ key, value }) =>
      secretsBelow(value, isCredentialName(name) && !isCredentialName(key) ? name : key, text),
    );
  const quotes = /^["']/.test(text.slice(tree.offset)) ? 1 : 0;
  const start = tree.offset + quotes;
  const value = text.slice(start, tree.end - quotes);
  if (!isCredentialName(name))
    return secretsInText(value).map((each) => ({
      ...each,
      start: each.start + start,
      end: each.end + start,
    }));
  return credentialsAt(start, value, name);
}

/** Returns the credential behind the value's scheme, unless it is empty or a switch. */
function credentialsAt(start: number, value: string, name: string): Secret[] {
  const secret = value.slice(scheme.exec(value)?.[0].length ?? 0);
  return isSwitch(secret) ? [] : [span(start + value.length - secret.length, secret, name)];
}

const span = (start: number, value: string, name: string): Secret => ({
  start,
  end: start + value.length,
  name,
});

const isSwitch = (value: string) => /^(?:true|false|null)?$/i.test(value);

/** Returns the whole value if its name looks like a credential; otherwise the secrets in it. */
export function namedSecrets(name: string, value: string): readonly Secret[] {
  if (isSwitch(value) || value.includes('${') || !isCredentialName(name)) return secretsIn(value);
  return [span(0, value, name)];
}

/** Replaces the whole value if its name looks like a credential; otherwise only secrets inside it. */
export function replaceNamedValue(
  name: string,
  value: string,
  replace: ReplaceSecret,
  { isOfServer }: VariableOptions,
): string {
  const secrets = namedSecrets(name, value);
  const isWhole = secrets[0]?.start === 0 && secrets[0].end === value.length;
  return replaceAll(value, secrets, replace, isOfServer || !isWhole);
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
    if (name !== '' && !semicolonList.test(arg))
      return `${name}=${replaceNamedValue(name, assignedValue, replace, { isOfServer: false })}`;
    if (/^--?[A-Za-z]/.test(before) && !before.includes('=') && !arg.startsWith('-'))
      return replaceNamedValue(before.replace(/^-+/, ''), arg, replace, { isOfServer: true });
    return replaceSecrets(arg, replace);
  });
}

function replaceInHeaderLine(line: string, replace: ReplaceSecret): string {
  const [, name = '', gap = '', value = ''] = /^([\w-]+)(:\s*)(.*)$/s.exec(line) ?? [];
  return name === '' ? replaceSecrets(line, replace) : name + gap + replaceHeaderValue(name, value, replace);
}
