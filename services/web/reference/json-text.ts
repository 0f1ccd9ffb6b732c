import { type Html, html } from '../ui-kit/html.ts'

const maxLineLength = 60

/** Write JSON for readers: what is short stays on one line. Numbers keep their exact text. */
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

/** Colour JSON text: names, texts, numbers and words each in a class of their own. */
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
