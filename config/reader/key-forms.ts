// Recognises API keys in any text: token formats of well-known services, and long words with letters and
// digits. The public hash of the configuration omits these keys, and commands detect them in arguments.

/** Token formats of services: model providers, code hosts, cloud platforms, chats and other tools. */
const tokenForms = [
  String.raw`sk-[\w-]{16,}`,
  String.raw`[sr]k_(?:live|test)_\w{10,}`,
  String.raw`whsec_\w{20,}`,
  String.raw`gh[pousr]_\w{20,}`,
  String.raw`github_pat_\w{20,}`,
  String.raw`glpat-[\w-]{16,}`,
  String.raw`xox[abceprs]-[\w-]{10,}`,
  String.raw`xapp-[\w-]{10,}`,
  'A[KS]IA[0-9A-Z]{16}',
  String.raw`AIza[\w-]{30,}`,
  String.raw`ya29\.[\w-]{20,}`,
  String.raw`GOCSPX-[\w-]{20,}`,
  String.raw`eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?`,
  String.raw`npm_\w{30,}`,
  String.raw`pypi-[\w-]{40,}`,
  String.raw`hf_\w{20,}`,
  String.raw`gsk_\w{20,}`,
  String.raw`xai-\w{20,}`,
  String.raw`nvapi-[\w-]{20,}`,
  String.raw`pplx-\w{20,}`,
  String.raw`r8_\w{20,}`,
  String.raw`ntn_\w{20,}`,
  String.raw`secret_\w{20,}`,
  String.raw`lin_(?:api|oauth)_\w{20,}`,
  String.raw`tvly-[\w-]{16,}`,
  String.raw`ctx7sk-[\w-]{16,}`,
  String.raw`figd_[\w-]{20,}`,
  'fc-[0-9a-f]{20,}',
  String.raw`apify_api_\w{20,}`,
  'sbp_[0-9a-f]{20,}',
  'dop_v1_[0-9a-f]{20,}',
  'dapi[0-9a-f]{32}',
  String.raw`hvs\.[\w-]{20,}`,
  String.raw`shp(?:at|ca|ss)_\w{20,}`,
  String.raw`ATATT3x[\w=-]{20,}`,
  String.raw`SG\.[\w-]{16,}\.[\w-]{16,}`,
  String.raw`\d{8,10}:AA[\w-]{32,}`,
  String.raw`pat[\w]{14}\.[0-9a-f]{20,}`,
];

export const knownTokens = new RegExp(String.raw`\b(?:${tokenForms.join('|')})`, 'g');

const longWord = /[\w=]{20,}/g;

/** Replaces each key with `mark`. */
export function withoutKeyForms(text: string, mark: string): string {
  return text.replace(knownTokens, mark).replace(longWord, (word) => (isOpaque(word) ? mark : word));
}

/** Returns true for a word with letters and at least three digits. */
const isOpaque = (word: string) => /[A-Za-z]/.test(word) && (word.match(/\d/g)?.length ?? 0) > 2;
