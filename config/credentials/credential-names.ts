// Recognises credential names: environment variables, headers, query parameters, options and fields. The last
// part determines the kind of value: API_TOKEN is a token, TOKEN_FILE a path, MAX_TOKENS a number. Redaction,
// the commands `servers add` and `servers import`, and configuration hashes share this rule.

/** Endings of credential names, also without separator: PGPASSWORD, authtoken. */
const credentialEnding =
  /(?:token|secret|password|passwd|passphrase|passcode|credential|apikey|accesskey|secretkey|privatekey|authkey|authorization)s?$/;
const credentialWord = /^(?:pass|pwd|pw|creds?|auth|bearer|cookies?|jwt|pat|dsn|keys?)$/;
/** Matches DBPASS and SSHPASS, but not BYPASS or COMPASS. */
const joinedPass = /(?<!^(?:by|com|encom|over|sur|tres|under))pass$/;

/** Suffixes that distinguish or encode credentials: TOKEN_PROD, KEY_BASE64. */
const qualifier =
  /^(?:[a-z]|previous|old|new|current|next|primary|secondary|backup|prod|production|staging|dev|development|test|live|value|raw|plain|encoded|base|hex|json)$/;
/** Keys that grant no access: PUBLIC_KEY, PARTITION_KEY. */
const openKey =
  /^(?:public|primary|foreign|sort|partition|row|cache|project|object|routing|idempotency|lookup|index|group|hot|shortcut)$/;
const countOfTokens = /^(?:max|min|num|number|total|count|limit)$/;
/** Prefixes of switches: ALLOW_EMPTY_PASSWORD, --no-auth. */
const switchWord = /^(?:no|skip|disable|without|allow|enable|require|use|with)$/;

/**
 * Tests if a name denotes a credential. Expects only the last part of a field path: in
 * `servers.token-store.port`, the server id contains the word token, but the field is no credential.
 */
export function isCredentialName(name: string): boolean {
  const words = wordsOf(name);
  while (words.length > 1 && qualifier.test(words.at(-1) ?? '')) words.pop();
  // A webhook URL grants access by itself; an access key id is half a credential.
  if (/(?:webhook url|access key id)$/.test(words.join(' '))) return true;
  const last = words.at(-1) ?? '';
  const others = words.slice(0, -1);
  if (switchWord.test(words[0] ?? '')) return false;
  if (/^keys?$/.test(last)) return !openKey.test(others.at(-1) ?? '');
  if (/^tokens?$/.test(last)) return !others.some((word) => countOfTokens.test(word));
  return credentialEnding.test(last) || credentialWord.test(last) || joinedPass.test(last);
}

/**
 * Splits a name into lower-case parts: `X-Api-Key`, `apiKey` and `API_KEY` yield `api` and `key`. Digits are
 * separators.
 */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== '');
}
