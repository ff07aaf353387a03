// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Bytes that were read and not consumed, and their text once it is asked for.
 * It keeps at least the newest `capBytes` and never more than about twice as
 * many: what is older is dropped and counted.
 */
export class OutputBuffer {
  #capBytes: number;
  #bytes = new Uint8Array(0);
  #start = 0;
  #end = 0;
  /** Where the bytes start that were not decoded yet. */
  #undecoded = 0;
  #text = "";
  /** UTF-16 units at the end of the text that `decode` did not give yet. */
  #unseen = 0;
  #decoder = newDecoder();
  #droppedBytes = 0;

  constructor(capBytes: number) {
    this.#capBytes = capBytes;
  }

  /** Number of bytes that are kept. */
  get byteLength(): number {
    return this.#end - this.#start;
  }

  /** Bytes dropped since the last call of {@linkcode consume} or {@linkcode take}. */
  get droppedBytes(): number {
    return this.#droppedBytes;
  }

  /** Copies bytes to the end. */
  push(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
    if (this.byteLength > 2 * this.#capBytes) this.#dropOldest();
  }

  /** All text that is kept; a character that has not arrived whole is not in it. */
  text(): string {
    this.decode();
    return this.#text;
  }

  /** The end of the text that was not given by an earlier call. */
  decode(): string {
    const piece = this.#decodeRest();
    if (this.#unseen === 0) return piece;
    const units = Math.min(this.#text.length, this.#unseen + piece.length);
    this.#unseen = 0;
    return this.#text.slice(this.#text.length - units);
  }

  /** Drops text from the start, and the bytes that it stands for. */
  consume(units: number): void {
    this.decode();
    const prefix = measurePrefix(this.#live(), { units });
    this.#start += prefix.bytes;
    this.#text = this.#text.slice(prefix.units);
    this.#droppedBytes = 0;
    if (this.byteLength === 0) this.#release();
  }

  /** Takes bytes out, all or so many. */
  take(maxBytes: number = Infinity): Uint8Array<ArrayBuffer> {
    const bytes = this.#live();
    if (bytes.length <= maxBytes) {
      this.#release();
      return bytes;
    }
    this.#start += maxBytes;
    this.#forgetText();
    return bytes.slice(0, maxBytes);
  }

  #decodeRest(): string {
    const rest = this.#bytes.subarray(this.#undecoded, this.#end);
    this.#undecoded = this.#end;
    const piece = this.#decoder.decode(rest, { stream: true });
    this.#text += piece;
    return piece;
  }

  #live(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  #release(): void {
    this.#bytes = new Uint8Array(0);
    this.#start = this.#end = 0;
    this.#forgetText();
  }

  #forgetText(): void {
    this.#undecoded = this.#start;
    this.#droppedBytes = this.#unseen = 0;
    this.#text = "";
    this.#decoder = newDecoder();
  }

  /** Makes room, so that every byte is moved a bounded number of times. */
  #reserve(length: number): void {
    if (this.#end + length <= this.#bytes.length) return;
    const needed = this.byteLength + length;
    const live = this.#live();
    if (needed * 2 > this.#bytes.length) {
      // What comes first is often taken at once, and room for more is wasted.
      this.#bytes = new Uint8Array(live.length === 0 ? length : needed * 2);
      this.#bytes.set(live);
    } else {
      this.#bytes.copyWithin(0, this.#start, this.#end);
    }
    this.#undecoded -= this.#start;
    this.#end = live.length;
    this.#start = 0;
  }

  /** Half of all goes at a time: cutting a text costs its length. */
  #dropOldest(): void {
    this.#unseen += this.#decodeRest().length;
    const prefix = measurePrefix(this.#live(), {
      bytes: this.byteLength - this.#capBytes,
    });
    this.#start += prefix.bytes;
    this.#text = this.#text.slice(prefix.units);
    this.#droppedBytes += prefix.bytes;
  }
}

function newDecoder(): TextDecoder {
  // A byte order mark in the middle of a terminal's output is a character.
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

/**
 * The shortest sequence of whole characters at the start that has at least so
 * many bytes and UTF-16 units, measured in both.
 */
function measurePrefix(
  bytes: Uint8Array,
  least: { bytes?: number; units?: number },
): { bytes: number; units: number } {
  const { bytes: leastBytes = 0, units: leastUnits = 0 } = least;
  let at = 0;
  let units = 0;
  while ((at < leastBytes || units < leastUnits) && at < bytes.length) {
    const length = characterLength(bytes, at);
    units += length === 4 ? 2 : 1;
    at += length;
  }
  return { bytes: at, units };
}

/**
 * Bytes of the character at an index, counted as a TextDecoder does: one that
 * is broken off counts as far as it was well formed, as one U+FFFD.
 */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  if (lead < 0x80) return 1;
  const size = lead < 0xc2 || lead > 0xf4
    ? 1
    : lead < 0xe0
    ? 2
    : lead < 0xf0
    ? 3
    : 4;
  let length = 1;
  let [low, high] = secondByteRange(lead);
  while (length < size) {
    const byte = bytes[at + length];
    if (byte === undefined || byte < low || byte > high) break;
    [low, high] = [0x80, 0xbf];
    length++;
  }
  return length;
}

/** Which second bytes are well formed after a lead byte (Unicode, table 3-7). */
function secondByteRange(lead: number): [low: number, high: number] {
  if (lead === 0xe0) return [0xa0, 0xbf];
  if (lead === 0xed) return [0x80, 0x9f];
  if (lead === 0xf0) return [0x90, 0xbf];
  if (lead === 0xf4) return [0x80, 0x8f];
  return [0x80, 0xbf];
}
