import { Parser } from 'saxen'
import { startTimeSlices } from '../../../platform/concurrency/time-slices.ts'
import { Failure } from '../../../platform/failure.ts'

/** Receives the elements of an XML document, by names without prefix. Texts are those of the element that is open. */
export type ElementReader = {
  readonly open: (name: string, attribute: (name: string) => string | undefined) => void
  readonly close: (name: string) => void
  readonly text: (text: string) => void
}

/** Limits of a document: depth of its elements, and characters of a tag or text. */
const limits = { depth: 32, partCharacters: 2 ** 20 } as const

const damaged = (): Failure =>
  new Failure('file_unreadable', 'The workbook has a part that is not valid XML. Save it again as .xlsx.')

const withoutPrefix = (name: string): string => name.slice(name.indexOf(':') + 1)

/**
 * Read a document in chunks, in time slices of the account. Yields after each chunk.
 * Throws `Failure` `file_unreadable` for invalid XML, document types, elements nested more than 32 times, and tags or texts
 * above 1 MiB. Throws the errors of `reader` as they are.
 */
export async function* readElements(
  chunks: AsyncIterable<Uint8Array>,
  reader: ElementReader,
  account?: string,
): AsyncGenerator<undefined> {
  let failure: unknown
  let depth = 0
  let unread = 0
  const guarded =
    <Args extends readonly unknown[]>(work: (...args: Args) => void) =>
    (...args: Args): void => {
      unread = 0
      if (failure !== undefined) return
      try {
        work(...args)
      } catch (error) {
        failure = error
      }
    }
  const parser = new Parser()
    .on(
      'openTag',
      guarded((name, attributes, decode) => {
        depth += 1
        if (depth > limits.depth) throw damaged()
        reader.open(withoutPrefix(name), wanted => {
          const value = attributes()[wanted]
          return value === undefined ? undefined : decode(value)
        })
      }),
    )
    .on(
      'closeTag',
      guarded(name => {
        depth -= 1
        reader.close(withoutPrefix(name))
      }),
    )
    .on(
      'text',
      guarded((text, decode) => reader.text(decode(text))),
    )
    .on(
      'cdata',
      guarded(text => reader.text(text)),
    )
    .on(
      'attention',
      guarded(() => {
        throw damaged()
      }),
    )
    .on('error', () => {
      failure ??= damaged()
    })
  const decoder = new TextDecoder('utf-8')
  const slices = startTimeSlices(account)
  for await (const chunk of chunks) {
    unread += chunk.length
    parser.write(decoder.decode(chunk, { stream: true }))
    if (unread > limits.partCharacters) failure ??= damaged()
    if (failure !== undefined) throw failure
    if (slices.isOver()) await slices.pause()
    yield
  }
  parser.end()
  if (failure !== undefined) throw failure
}
