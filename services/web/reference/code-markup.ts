import { type Html, html } from '../ui-kit/html.ts'

const maxLineLength = 60

/** Format JSON. Values of up to 60 characters are on one line, and numbers keep their exact text. */
export const jsonText = (value: unknown, indent = ''): string => {
  const written = JSON.stringify(value) ?? 'null'
  if (!/^[[{]/.test(written) || typeof value !== 'object' || value === null) return written
  const [opening, closing] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const inner = `${indent}  `
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  if (entries.length === 0) return `${opening}${closing}`
  const entryText = ([name, one]: readonly [string, unknown], innerIndent: string): string =>
    opening === '[' ? jsonText(one, innerIndent) : `${JSON.stringify(name)}: ${jsonText(one, innerIndent)}`
  const parts = entries.map(entry => entryText(entry, inner))
  const line = opening === '[' ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`
  const isShort = line.length + indent.length <= maxLineLength && !line.includes('\n')
  return isShort ? line : `${opening}\n${parts.map(one => `${inner}${one}`).join(',\n')}\n${indent}${closing}`
}

const tokenPattern = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g

/** Create markup of JSON text with one class each for names, strings, numbers and keywords. */
export const jsonMarkup = (text: string): Html => {
  const parts: Html[] = []
  let end = 0
  for (const match of text.matchAll(tokenPattern)) {
    const [whole, quoted, colon, keyword] = match
    const className = colon !== undefined ? 'k' : quoted !== undefined ? 's' : keyword !== undefined ? 'w' : 'n'
    parts.push(html`${text.slice(end, match.index)}<span class="${className}">${quoted ?? whole}</span>${colon}`)
    end = match.index + whole.length
  }
  return html`${parts}${text.slice(end)}`
}

const codePattern =
  /(\{\w+\}|\b[a-z]+(?:_[a-z0-9]+)+(?:=\w+)?\b|\b[a-z]+=\w+\b|\b(?!JSON|IANA|HTTP)[A-Z][A-Z_]{3,}\b|(?<!\w)\/[a-z]+(?:\/[a-z{}]+)*)/

/** Mark field names, API values and paths in a sentence as code. */
export const markCode = (sentence: string): Html =>
  html`${sentence.split(codePattern).map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`

/** Placeholder of the service address. The page's script replaces it. */
export const baseAddress = 'http://localhost:8080'

/** Create a code block with a title and a copy button. */
export const codeBlock = (title: string, code: Html): Html => html`<figure class="code">
<figcaption>${title}<button type="button" class="copy" hidden>Copy</button></figcaption>
<pre tabindex="0"><code>${code}</code></pre></figure>`

/** Mark the service address in a command, so that the page's script can replace it. */
export const shellMarkup = (command: string): Html => {
  const [first = '', ...rest] = command.split(baseAddress)
  return html`${first}${rest.map(part => html`<span class="base">${baseAddress}</span>${part}`)}`
}
