// Checks exact numbers without a service: texts that are read and written again, wrong JSON, and texts like numbers.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { decimal, parseExact, verifyWebhook, writeExact } from '../dist/index.js'

const none = new Set()
const digits = length => Array.from({ length }, () => randomInt(10)).join('')
const number = () => {
  const exponent = randomInt(3) === 0 ? `${'eE'[randomInt(2)]}${['', '+', '-'][randomInt(3)]}${randomInt(99)}` : ''
  return `${['', '-'][randomInt(2)]}${1 + randomInt(9)}${digits(randomInt(20))}.${digits(1 + randomInt(20))}${exponent}`
}
const strings = ['', 'a "b" 1.50', '\\', '\\"', '\\\\" 2.0 "', '"', '1.10', '\n\u2028', 'é{}[]:,', '__proto__']
const string = () => JSON.stringify(strings[randomInt(strings.length)])
const value = depth => {
  const kind = randomInt(depth > 3 ? 5 : 7)
  if (kind < 2) return number()
  if (kind < 4) return string()
  if (kind === 4) return ['true', 'false', 'null', '0', '-0', '12'][randomInt(6)]
  const items = Array.from({ length: randomInt(4) }, () => value(depth + 1))
  return kind === 5 ? `[${items}]` : `{${items.map((item, index) => `"${index}a 1.0\\"":${item}`)}}`
}

for (let run = 0; run < 5_000; run += 1) {
  const text = value(0)
  assert.equal(writeExact(parseExact(text, none)), text)
}
for (const wrong of ['', '01', '1.', '.5', '+1', '1-2', '--1', '1e', '[1 2]', '"a', "'1'", 'NaN', '{"a":1,}', '"\n"'])
  assert.throws(() => parseExact(wrong, none), Error, wrong)
assert.deepEqual(parseExact('{"count":[1,2.5],"value":3}', new Set(['count'])), {
  count: [1, decimal('2.5')],
  value: decimal('3'),
})
const long = 'x"\\'.repeat(2_000_000)
assert.equal(parseExact(JSON.stringify(long), none), long)
assert.throws(() => writeExact({ value: 0.1 }), /"value" is the binary fraction 0\.1/)
assert.throws(() => verifyWebhook({ secret: `whsec_${'A'.repeat(32)}`, body: '{}', headers: {} }), /webhook-id/)
// JSON.stringify never rounds a decimal.
assert.match(JSON.stringify(decimal('0.12345678901234567')), /^"?0\.12345678901234567"?$/)
console.log(process.version)
