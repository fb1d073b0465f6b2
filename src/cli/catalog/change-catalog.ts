// A change of a catalog on the disk. What comes of it is read as the gateway would read it, and replaces the file only where that finds
// no error; then the secrets are in `.env` already.

import { checkCatalog } from '../../../config/catalog/check-catalog.ts';
import { type CatalogEdit, editCatalog, serverNames } from '../../../config/catalog/edit-catalog.ts';
import { ConfigError, hasError } from '../../../config/reader/problem.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { ApiProblem } from '../api/api-client.ts';
import { hintFor } from '../api/unknown-name.ts';
import type { CatalogPlace } from './catalog-place.ts';
import { EnvDraft } from './env-draft.ts';
import { readWhole, replaceFile } from './replace-file.ts';

const SECRET_MODE = 0o600;

export class CatalogFile {
  readonly place: CatalogPlace;
  /** Values that are to stand in `.env`. */
  readonly draft: EnvDraft;
  readonly #text: string;

  private constructor(place: CatalogPlace, text: string, draft: EnvDraft) {
    this.place = place;
    this.draft = draft;
    this.#text = text;
  }

  /** Throws ApiProblem for a file that cannot be read. One that is not there is an empty one. */
  static async open(place: CatalogPlace): Promise<CatalogFile> {
    const [text, env] = await Promise.all([readWhole(place.catalogPath), readWhole(place.envPath)]);
    return new CatalogFile(place, text, new EnvDraft(env, place.environment));
  }

  get names(): readonly string[] {
    return serverNames(this.#text);
  }

  /** Throws ApiProblem where the server is there already. */
  refuseTaken(name: string, isReplacing: boolean): void {
    if (isReplacing || !this.names.includes(name)) return;
    const { catalogPath } = this.place;
    throw new ApiProblem(
      `${catalogPath} has a server ${name} already; --force replaces it, or take another name`,
      false,
    );
  }

  /** Throws ApiProblem where there is none of that name. */
  refuseUnknown(name: string): void {
    if (this.names.includes(name)) return;
    const hint = hintFor(name, this.names);
    throw new ApiProblem(`${this.place.catalogPath} has no server ${JSON.stringify(name)}; ${hint}`, false);
  }

  /** Whether there was anything to change. Throws ApiProblem and ConfigError, and then nothing was. */
  async change(edit: CatalogEdit): Promise<boolean> {
    const { catalogPath, envPath } = this.place;
    const edited = editCatalog(this.#text, edit);
    if (typeof edited !== 'string') throw new ApiProblem(`${catalogPath}: ${edited.refusal}`, false);
    const { problems } = checkCatalog(new SourceFile(catalogPath, edited), this.draft.environment);
    if (hasError(problems)) throw new ConfigError(problems);
    const { added, before, text } = this.draft;
    if (added.length > 0) await replaceFile(envPath, before, text, SECRET_MODE);
    if (edited === this.#text) return false;
    await replaceFile(catalogPath, this.#text, edited);
    return true;
  }
}
