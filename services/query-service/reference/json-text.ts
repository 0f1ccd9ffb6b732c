import { type Html, html } from './html.ts'

const widest = 60

/** Write JSON for readers: what is short stays on one line. Numbers keep their exact text. */
export const jsonText = (value: unknown, indent = ''): string => {
  const written = JSON.stringify(value) ?? 'null'
  if (!/^[[{]/.test(written) || typeof value !== 'object' || value === null) return written
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const inner = `${indent}  `
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  if (entries.length === 0) return `${open}${close}`
  const part = ([name, one]: readonly [string, unknown], deep: string): string =>
    open === '[' ? jsonText(one, deep) : `${JSON.stringify(name)}: ${jsonText(one, deep)}`
  const parts = entries.map(entry => part(entry, inner))
  const line = open === '[' ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`
  const isShort = line.length + indent.length <= widest && !line.includes('\n')
  return isShort ? line : `${open}\n${parts.map(one => `${inner}${one}`).join(',\n')}\n${indent}${close}`
}

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g

/** Colour JSON text: names, texts, numbers and words each in a class of their own. */
export const jsonMarkup = (text: string): Html => {
  const parts: Html[] = []
  let end = 0
  for (const match of text.matchAll(token)) {
    const [whole, quoted, colon, word] = match
    const kind = colon !== undefined ? 'k' : quoted !== undefined ? 's' : word !== undefined ? 'w' : 'n'
    parts.push(html`${text.slice(end, match.index)}<span class="${kind}">${quoted ?? whole}</span>${colon}`)
    end = match.index + whole.length
  }
  return html`${parts}${text.slice(end)}`
}
