import { type Html, html } from '../ui-kit/html.ts'

const codePattern =
  /(\{\w+\}|\b[a-z]+(?:_[a-z0-9]+)+(?:=\w+)?\b|\b[a-z]+=\w+\b|\b(?!JSON|IANA|HTTP)[A-Z][A-Z_]{3,}\b|(?<!\w)\/[a-z]+(?:\/[a-z{}]+)*)/

/** Set names of fields, words of the interface and paths inside a sentence apart from the text. */
export const markCode = (sentence: string): Html =>
  html`${sentence.split(codePattern).map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
