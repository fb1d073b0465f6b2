// Takes secrets out of texts that come from elsewhere: a platform, or a proxy before it, may repeat what it was sent, and some
// platforms have the token in every address. Done where a text comes in, before anybody could cut a secret in half.
//
// WS1  a secret is found as it is, and as JSON and addresses write it.
// - secrets below `MIN_LENGTH` are ignored: they match inside ordinary text, and redaction would corrupt the response.

const INSTEAD = '[token removed]';
/** Equals MIN_CREDENTIAL_LENGTH of config/credentials, which this folder must not import. */
const MIN_LENGTH = 8;

/** Gives a text without the secrets. */
export type Clean = (text: string) => string;

/** What takes `secrets` out, and other forms of them as they are; without any, every text stays as it is. */
export function without(secrets: readonly string[], otherForms: readonly string[] = []): Clean {
  const forms = new Set([
    ...secrets.filter(({ length }) => length >= MIN_LENGTH).flatMap(formsOf),
    ...otherForms,
  ]);
  if (forms.size === 0) return (text) => text;
  return (text) => {
    let cleaned = text;
    for (const form of forms) cleaned = cleaned.replaceAll(form, INSTEAD);
    return cleaned;
  };
}

/** `text`, JSON, with no more escapes than it needs: in another spelling a secret would not be found. */
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
