// The screenshots of this session, by name: the newest ones, bounded in number and bytes, so that a long session does not
// fill the memory of this program.

const MAX_SHOTS = 50;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

export interface Screenshot {
  readonly name: string;
  readonly mimeType: 'image/png' | 'image/jpeg';
  readonly data: Buffer;
  /** Of the picture, in pixels. */
  readonly width: number;
  readonly height: number;
  readonly pageUrl: string;
  readonly at: Date;
}

export class Screenshots {
  /** In the order of their making. */
  readonly #shots = new Map<string, Screenshot>();
  #bytes = 0;

  /** Keeps a screenshot in place of an older one of that name. Gives the names whose pictures had to go for it. */
  add(shot: Screenshot): string[] {
    this.#drop(shot.name);
    this.#shots.set(shot.name, shot);
    this.#bytes += shot.data.length;
    const dropped: string[] = [];
    for (const name of this.#shots.keys()) {
      if (this.#shots.size <= MAX_SHOTS && this.#bytes <= MAX_TOTAL_BYTES) break;
      this.#drop(name);
      dropped.push(name);
    }
    return dropped;
  }

  get(name: string): Screenshot | undefined {
    return this.#shots.get(name);
  }

  has(name: string): boolean {
    return this.#shots.has(name);
  }

  list(): readonly Screenshot[] {
    return [...this.#shots.values()];
  }

  #drop(name: string): void {
    const old = this.#shots.get(name);
    if (old === undefined) return;
    this.#bytes -= old.data.length;
    this.#shots.delete(name);
  }
}

/** The address of a screenshot as a resource. */
export function screenshotUri(name: string): string {
  return `screenshot://${encodeURIComponent(name)}`;
}
