// Recognises API keys in any text: token formats of well-known services, and long words with letters and
// digits.

export const knownTokens =
  /\b(?:sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{10,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|xapp-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?|npm_\w{30,}|hf_\w{20,}|ntn_\w{20,}|secret_\w{20,}|lin_api_\w{20,}|tvly-[\w-]{16,}|figd_[\w-]{20,}|shp(?:at|ca|ss)_\w{20,}|pat[\w]{14}\.[0-9a-f]{20,})/g;

const longWord = /[\w=]{20,}/g;

/** Replaces each key with `mark`. */
export function withoutKeyForms(text: string, mark: string): string {
  return text.replace(knownTokens, mark).replace(longWord, (word) => (isOpaque(word) ? mark : word));
}

const isOpaque = (word: string) => /[A-Za-z]/.test(word) && (word.match(/\d/g)?.length ?? 0) > 2;
