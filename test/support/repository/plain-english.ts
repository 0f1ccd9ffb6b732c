import type { Source } from './import-boundaries.ts'

/** A sentence of the repository that is hard to read. */
export type HardSentence = {
  readonly path: string
  readonly line: number
  readonly reason: string
  readonly text: string
}

/** Number of sentences in a folder, and those that are hard to read. */
export type FolderProse = { readonly sentences: number; readonly hard: readonly HardSentence[] }

/** Maximum number of words in a sentence. docs/decisions.md recommends 25; a list of names may need some more. */
const maxWords = 32

/**
 * Phrases that a newcomer has to read twice, with the phrase to write instead.
 * Names of HTTP members and quoted code are in backticks and are not prose.
 */
const hardPhrases: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\b(?:is|are|was|were|be|been|not|once) told\b(?! apart)|\btold (?:of|that|what|by)\b/i, 'log, notify, report'],
  [/\btells? (?:of|what|which|when|how|whether|that|it)\b/i, 'report, show, return'],
  [/\b(?:whoever|whomever|whence)\b/i, 'the name of the component'],
  [/\b(?:nobody|no one|somebody|anybody)\b/i, 'the name of the role: no process, no caller'],
  [/\b(?:put|puts|lay|lays|laid) (?:\w+ )?aside\b/i, 'dead-letter, move'],
  [/\bso (?:many|few|long) (?!that)\w+ (?:at|may|is|are)\b|\bfor so long\b/i, 'the number and its unit'],
  [/\b(?:let|lets) go of\b|\bis let (?:in|go)\b/i, 'release, accept'],
  [/\banew\b|\bhitherto\b|\bthereof\b|\bthitherto\b|\btherein\b/i, 'again'],
  [/^what (?:is|was|are|were|a|an|the|it|they|has|had)\b[^?]*$/i, 'a noun: "Rows that …"'],
  [/^(?:how (?:many|much|long|often)|whose|whether) [^?]*$/i, 'a noun: "Number of …", "True if …"'],
  [/^gives? (?!up\b|back\b|way\b|(?:\w+ ){1,5}to\b)/i, 'Return, Calculate, List'],
  [/\b(?:is|are) no (?<!there (?:is|are) no )(?:command|number|text|object|json|key|name|path)\b/i, 'is not a …'],
  [/\bwhere (?:it|they|one) (?:stands?|stood)\b|\bstands? (?:there|here|behind|once)\b/i, 'is, is stored'],
  [/\bat the (?:most|least)(?=[.,;:]|$)/i, 'at most, at least'],
  [/(?<!\b(?:all|each|one|none|some|any|most|part) )of (?:it|them)[.;,:]$/i, 'the noun itself'],
  [/\bgoes on\b|\bgo on as\b/i, 'continues'],
  [/\bcomes? in late\b|\bthat come in\b/i, 'arrives'],
]

type TextBlock = { readonly line: number; readonly text: string }

/** Marks that a line of a comment begins with, in TypeScript, CSS and SQL. */
const commentMark = /^\s*(?:\/\*\*?|\*\/|\*(?!\*)|\/\/|--)/

/** Return the comments of a file: neighbouring lines that begin with a mark of a comment are one passage. */
const commentsOf = (text: string): readonly TextBlock[] => {
  const blocks: { line: number; text: string }[] = []
  let isOpen = false
  for (const [index, line] of text.split('\n').entries()) {
    const mark = commentMark.exec(line)?.[0]
    const last = blocks.at(-1)
    const own = mark === undefined ? '' : line.slice(mark.length).replace('*/', '')
    if (mark === undefined) isOpen = false
    else if (isOpen && last !== undefined && !mark.endsWith('/**')) last.text += `\n${own.trim()}`
    else blocks.push({ line: index + 1, text: own.trim() })
    if (mark !== undefined) isOpen = !line.trimEnd().endsWith('*/')
  }
  return blocks
}

/** Return the paragraphs of a Markdown text outside of code, tables and headings. */
const paragraphsOf = (text: string): readonly TextBlock[] => {
  let isCode = false
  return text.split('\n').flatMap((line, index) => {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode
    return isCode || /^\s*(?:```|~~~|\||#)/.test(line)
      ? []
      : [{ line: index + 1, text: line.trim().replace(/^(?:[-*>]|\d+\.) /, '') }]
  })
}

const plain = (text: string): string =>
  text
    .replace(/`[^`]*`/g, 'code')
    .replace(/\bSource: [^\n]*/g, '')
    .replace(/\bhttps?:\S+/g, 'code')

const sentencesOf = ({ line, text }: TextBlock): readonly TextBlock[] =>
  plain(text)
    .split(/\n\n|\n[-*] /)
    .flatMap(paragraph => paragraph.replaceAll('\n', ' ').split(/(?<=[.!?;:]) /))
    .map(sentence => ({ line, text: sentence.trim() }))
    .filter(sentence => /^[\p{L}"'(]/u.test(sentence.text) && sentence.text.includes(' '))

const reasonOf = (sentence: string): string | null => {
  const hardPhrase = hardPhrases.find(([phrase]) => phrase.test(sentence))
  if (hardPhrase !== undefined) return `write: ${hardPhrase[1]}`
  const words = sentence.split(' ').length
  return words > maxWords ? `has ${words} words` : null
}

/** List the sentences of the comments of a file, or of the text of a Markdown file. */
const sentencesIn = ({ path, text }: Source): readonly TextBlock[] =>
  (path.endsWith('.md') ? paragraphsOf(text) : commentsOf(text)).flatMap(sentencesOf)

/** Count the sentences of comments and Markdown texts, and find those that are hard to read. */
export const readProse = (sources: readonly Source[]): FolderProse => {
  let sentences = 0
  const hard: HardSentence[] = []
  for (const source of sources) {
    for (const { line, text } of sentencesIn(source)) {
      sentences += 1
      const reason = reasonOf(text)
      if (reason !== null) hard.push({ path: source.path, line, reason, text })
    }
  }
  return { sentences, hard }
}
