// Removes secrets from inbound texts: a platform or a proxy may quote the request, and some platforms have
// the token in every address. Texts are cleaned on receipt, because a truncated secret would not be found.
// Finds secrets in plain, JSON and URL notation.
//
// Secrets below `MIN_LENGTH` are ignored: they match inside ordinary text, and redaction would corrupt the
// response.

const REPLACEMENT = '[token removed]';
/** Equals MIN_CREDENTIAL_LENGTH of config/credentials, which this folder must not import. */
const MIN_LENGTH = 8;

/** Returns a text without the secrets. */
export type Clean = (text: string) => string;

/** Returns a function that removes `secrets` in all notations, and `otherForms` literally. */
export function secretRemover(secrets: readonly string[], otherForms: readonly string[] = []): Clean {
  const forms = new Set([
    ...secrets.filter(({ length }) => length >= MIN_LENGTH).flatMap(formsOf),
    ...otherForms,
  ]);
  if (forms.size === 0) return (text) => text;
  return (text) => {
    let cleaned = text;
    for (const form of forms) cleaned = cleaned.replaceAll(form, REPLACEMENT);
    return cleaned;
  };
}

/** Removes unnecessary escapes from JSON text: secrets would not be found in another notation. */
export function plainJson(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:u00([2-7][0-9a-fA-F])|.)/g, (whole, hex: string | undefined) => {
    if (whole === '\\/') return '/';
    if (hex === undefined) return whole;
    const plain = String.fromCharCode(Number.parseInt(hex, 16));
    return plain === '"' || plain === '\\' ? `\\${plain}` : plain;
  });
}

function formsOf(secret: string): string[] {
  const asJson = JSON.stringify(secret).slice(1, -1);
  return [secret, asJson, asJson.replaceAll('/', '\\/'), encodeURIComponent(secret), encodeURI(secret)];
}
