import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

const HEAD_END = '\r\n\r\n';
/** Bytes passed on at once of a body without a length. Other requests may follow in them. */
const PIECE_BYTES = 1024;
/** Bytes of a peer that pipelines that are read and dropped; with more, its connection is closed at once. */
const DROPPED_MAX = 1024 * 1024;

/** Where the next byte of the peer belongs. */
type Expected =
  | { readonly type: 'head' }
  /** `left`: bytes of the body that are missing. */
  | { readonly type: 'body'; readonly left: number }
  /** The body ends where only Node's parser can tell, so the connection serves no other request. */
  | { readonly type: 'rest' }
  /** The request is complete. The next byte begins another one, and may come after the answer. */
  | { readonly type: 'next' };

/**
 * A connection as Node's HTTP server reads it: it has the bytes of one request, and those of the next one
 * once the answer is sent. If more bytes come before that, the peer pipelines: nothing more is passed on, and
 * the connection is closed with the answer. So each connection has at most one request that was neither
 * answered nor refused, however many the peer sends at once, and reading them costs nothing.
 *
 * Node documents that any Duplex can be given to a server as a connection (the event `connection`).
 */
export class RequestGate extends Duplex {
  /** The connection itself: a TLSSocket if the port speaks TLS. */
  readonly socket: Socket;
  readonly #onPipelined: () => void;
  #expected: Expected = HEAD;
  /** The last bytes of a head that is not complete; the end of the head may lie across two chunks. */
  #seam = Buffer.alloc(0);
  /** Whether what is being passed on ends a head, so that a request can begin there. */
  #endsHead = false;
  #response: ServerResponse | undefined;
  /** Bytes that came after an answer that is written, but not sent yet. */
  #held: Buffer | undefined;
  #isPipelined = false;
  #dropped = 0;

  constructor(socket: Socket, onPipelined: () => void) {
    super({ decodeStrings: false });
    this.socket = socket;
    this.#onPipelined = onPipelined;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => this.push(null));
    socket.on('timeout', () => this.emit('timeout'));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** The response that is not sent yet. */
  get response(): ServerResponse | undefined {
    return this.#response;
  }

  /**
   * Call it when a request begins, before anything else handles it. Returns false if an earlier request of
   * the connection has no answer yet: then this one must not be handled, and its response is never sent.
   */
  begin({ headers }: IncomingMessage, response: ServerResponse): boolean {
    if (this.#response !== undefined || this.#isPipelined) {
      this.refuseMore();
      return false;
    }
    this.#response = response;
    response.once('close', () => this.#answered());
    const { 'transfer-encoding': encoding, 'content-length': length = '0' } = headers;
    const isCounted = this.#endsHead && encoding === undefined && /^\d{1,15}$/.test(length);
    this.#expected = isCounted ? bodyOf(Number(length)) : { type: 'rest' };
    if (!isCounted) endConnection(response);
    return true;
  }

  override _read(): void {
    this.#goOn();
  }

  override _write(
    chunk: Buffer | string,
    encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    this.socket.write(chunk, encoding, done);
  }

  /** Node corks a connection while it writes an answer, so that its parts leave together. */
  override _writev(
    chunks: readonly { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this.socket.cork();
    for (const [at, { chunk, encoding }] of chunks.entries()) {
      this.socket.write(chunk, encoding, at === chunks.length - 1 ? done : undefined);
    }
    this.socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }

  // What Node's server and Express read of a connection.

  get remoteAddress(): string | undefined {
    return this.socket.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.socket.remotePort;
  }

  get bytesRead(): number {
    return this.socket.bytesRead;
  }

  get encrypted(): boolean {
    return this.socket instanceof TLSSocket;
  }

  setTimeout(ms: number): this {
    this.socket.setTimeout(ms);
    return this;
  }

  /**
   * Ends the connection after what is written. A pipelining peer may still be sending: to close the
   * connection with bytes unread would reset it, and the peer would lose its answer. So they are read and
   * dropped, within a bound, until the peer closes the connection too, or is disconnected like one that
   * leaves an answer unread.
   */
  destroySoon(): void {
    if (this.#isPipelined) this.end();
    else if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy()).end();
  }

  #receive(chunk: Buffer): void {
    if (this.#isPipelined) {
      this.#dropped += chunk.length;
      if (this.#dropped > DROPPED_MAX) this.destroy();
      return;
    }
    // Over TLS, a peer may have read an answer, and send its next request, before the answer counts as sent.
    if (this.#expected.type === 'next' && this.#response?.writableEnded === true) this.#hold(chunk);
    else this.#pass(chunk);
  }

  #pass(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0 && !this.#isPipelined && !this.destroyed) {
      const expected = this.#expected;
      if (expected.type === 'next') return this.refuseMore();
      if (expected.type === 'head' && !this.#isReadAtOnce()) return this.destroySoon();
      const length = expected.type === 'head' ? this.#toHeadEnd(rest) : bodyBytes(expected, rest);
      if (expected.type === 'body') this.#expected = bodyOf(expected.left - length);
      // The parser reads it at once: a request that begins here has called `begin` when `push` returns.
      if (!this.push(rest.subarray(0, length))) this.socket.pause();
      rest = rest.subarray(length);
      this.#endsHead = false;
      if (this.#expected.type === 'next' && this.#response === undefined) this.#expected = HEAD;
    }
  }

  /**
   * Whether the parser reads what is passed on before `push` returns. It does not while it has to read the
   * rest of a body that was answered unread: such a connection serves no other request.
   */
  #isReadAtOnce(): boolean {
    return this.readableLength === 0 && this.readableFlowing === true;
  }

  /** How many bytes belong to the head, to its end if that is among them. */
  #toHeadEnd(chunk: Buffer): number {
    const across = Buffer.concat([this.#seam, chunk.subarray(0, HEAD_END.length - 1)]).indexOf(HEAD_END);
    const within = chunk.indexOf(HEAD_END);
    this.#endsHead = across !== -1 || within !== -1;
    if (this.#endsHead) {
      const length = across === -1 ? within + HEAD_END.length : across + HEAD_END.length - this.#seam.length;
      this.#seam = Buffer.alloc(0);
      return length;
    }
    this.#seam = Buffer.concat([this.#seam, chunk]).subarray(1 - HEAD_END.length);
    return chunk.length;
  }

  #hold(chunk: Buffer): void {
    this.#held = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    this.socket.pause();
  }

  #answered(): void {
    this.#response = undefined;
    if (this.#isPipelined || this.#expected.type === 'rest') return this.destroySoon();
    if (this.#expected.type === 'next') this.#expected = HEAD;
    this.#goOn();
  }

  /** Passes on what is held, if it is its turn, and reads on. */
  #goOn(): void {
    if (this.#isPipelined) return;
    const held = this.#held;
    if (held !== undefined && this.#expected.type !== 'next') {
      this.#held = undefined;
      this.#pass(held);
    }
    if (this.#held === undefined && this.socket.isPaused()) this.socket.resume();
  }

  /** Passes nothing more on, and closes the connection with the answer that is due, if one is. */
  refuseMore(): void {
    const response = this.#response;
    if (!this.#isPipelined) this.#onPipelined();
    this.#isPipelined = true;
    this.#held = undefined;
    this.socket.resume();
    if (response === undefined) this.destroySoon();
    else endConnection(response);
  }
}

/** How many of these bytes are passed on at once. */
function bodyBytes(expected: Expected, { length }: Buffer): number {
  return Math.min(length, expected.type === 'body' ? expected.left : PIECE_BYTES);
}

const HEAD: Expected = { type: 'head' };

const bodyOf = (left: number): Expected => (left > 0 ? { type: 'body', left } : { type: 'next' });

/** Closes the connection after this answer. */
export function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}
