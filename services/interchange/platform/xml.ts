import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { Failure } from '../../platform/failure.ts'

/** Limits of an XML file: depth of its elements, and characters of an entry and of a tag, comment or text. */
export const xmlLimits = { depth: 32, entryCharacters: 64 * 2 ** 20, partCharacters: 2 ** 20 } as const

/** Entry of an Atom feed as plain values, and the line of the file in which it begins. */
export type XmlEntry = { readonly line: number; readonly value: unknown }

const invalid = (message: string): Failure => new Failure('file_unreadable', message)

/** Keeps texts as sent. Entities are not expanded: the documents need none, and some entities exhaust the memory. */
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  removeNSPrefix: true,
  maxNestedTags: xmlLimits.depth,
  isArray: name => ['link', 'content', 'IntervalBlock', 'IntervalReading', 'ReadingQuality'].includes(name),
})

const parse = (text: string, line: number): object => {
  try {
    return parser.parse(text) as object
  } catch {
    // The parser refuses names that are special to JavaScript, such as __proto__ and constructor.
    throw invalid(`Line ${line}: the entry has an element with a name that is not allowed. Remove the element.`)
  }
}

const parseEntry = (text: string, line: number): XmlEntry => {
  const checked = XMLValidator.validate(text)
  if (checked !== true) throw invalid(`Line ${line + checked.err.line - 1}: the file is not XML.`)
  return { line, value: Reflect.get(parse(text, line), 'entry') }
}

/**
 * State of the search for entries. `text` is searched up to `at`, and `line` is the line at `lineAt`. Inside an entry,
 * `parts` are its texts before `text`, and `entryFrom` is the index in `text` at which the entry continues.
 */
type EntrySearch = {
  text: string
  at: number
  line: number
  lineAt: number
  depth: number
  /** Depth of the entry; 0 outside of an entry. */
  entryDepth: number
  entryLine: number
  entryFrom: number
  parts: string[]
  partCharacters: number
}

/** Ends of the parts of XML that are not elements. */
const otherParts: readonly (readonly [string, string])[] = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
]

/** Return the index after a tag that begins at `at`; -1 if the text ends in it. Attributes can contain `>`. */
const endOfTag = (text: string, at: number): number => {
  let index = at + 1
  for (; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === 62) return index + 1
    if (code !== 34 && code !== 39) continue
    index = text.indexOf(text[index] as string, index + 1)
    if (index < 0) return -1
  }
  return -1
}

const lineBreaks = (text: string): number => {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

const isEntryTag = (tag: string): boolean => /^<\/?(?:[\w.-]+:)?entry[\s/>]/.test(tag)

/** Return the line at an index of the text. Indexes must not fall. */
const lineAt = (search: EntrySearch, index: number): number => {
  search.line += lineBreaks(search.text.slice(search.lineAt, index))
  search.lineAt = index
  return search.line
}

/** Read one tag. Returns the text of an entry that ends with it. */
const readTag = (search: EntrySearch, from: number, to: number): string | null => {
  const { text } = search
  const isClosing = text.charCodeAt(from + 1) === 47
  const isEmpty = text.charCodeAt(to - 2) === 47
  if (isClosing) search.depth -= 1
  else if (!isEmpty) search.depth += 1
  if (search.depth > xmlLimits.depth)
    throw invalid(`Line ${lineAt(search, from)}: elements are nested more than ${xmlLimits.depth} times.`)
  if (search.entryDepth === 0) {
    if (isClosing || isEmpty || !isEntryTag(text.slice(from, from + 80))) return null
    search.entryDepth = search.depth
    search.entryLine = lineAt(search, from)
    search.entryFrom = from
    return null
  }
  if (!isClosing || search.depth !== search.entryDepth - 1) return null
  const entry = [...search.parts, text.slice(search.entryFrom, to)].join('')
  search.parts = []
  search.partCharacters = 0
  search.entryDepth = 0
  return entry
}

/** Remove the searched text, and keep the text of an entry that continues. */
const forgetSearched = (search: EntrySearch): void => {
  const { text, at } = search
  if (search.entryDepth > 0) {
    search.parts.push(text.slice(search.entryFrom, at))
    search.partCharacters += at - search.entryFrom
    search.entryFrom = 0
  }
  lineAt(search, at)
  search.text = text.slice(at)
  search.at = 0
  search.lineAt = 0
  if (search.partCharacters > xmlLimits.entryCharacters)
    throw invalid(`Line ${search.entryLine}: the entry is longer than 64 MiB.`)
  if (search.text.length > xmlLimits.partCharacters)
    throw invalid(`Line ${search.line}: a tag, comment or text is longer than 1 MiB.`)
}

/** Find the entries that are complete. */
function* completeEntries(search: EntrySearch): Generator<XmlEntry> {
  for (;;) {
    const from = search.text.indexOf('<', search.at)
    if (from < 0 || search.text.length - from < 10) return
    const part = otherParts.find(([start]) => search.text.startsWith(start, from))
    if (part === undefined && search.text.startsWith('<!', from))
      throw invalid('The file has a document type or entities. Remove them.')
    const end = part === undefined ? endOfTag(search.text, from) : search.text.indexOf(part[1], from + part[0].length)
    if (end < 0) return
    const to = part === undefined ? end : end + part[1].length
    search.at = to
    const entry = part === undefined ? readTag(search, from, to) : null
    if (entry !== null) yield parseEntry(entry, search.entryLine)
  }
}

/**
 * Read the entries of an Atom feed, or a single entry, one at a time.
 * Throws `Failure` `file_unreadable` for document types, elements nested more than 32 times, entries above 64 MiB, tags above
 * 1 MiB, invalid XML, incomplete files, and elements with names
 * that are special to JavaScript.
 */
export async function* readXmlEntries(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<XmlEntry> {
  const search: EntrySearch = {
    text: '',
    at: 0,
    line: 1,
    lineAt: 0,
    depth: 0,
    entryDepth: 0,
    entryLine: 0,
    entryFrom: 0,
    parts: [],
    partCharacters: 0,
  }
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const add = (chunk?: Uint8Array): void => {
    try {
      search.text += decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw invalid('The file is not text in utf-8.')
    }
  }
  for await (const chunk of chunks) {
    add(chunk)
    yield* completeEntries(search)
    forgetSearched(search)
  }
  add()
  // The last tag is shorter than the look-ahead of the search.
  search.text += ' '.repeat(10)
  yield* completeEntries(search)
  if (search.depth !== 0 || search.text.slice(search.at).trim() !== '')
    throw invalid('The file ends inside an element.')
}
