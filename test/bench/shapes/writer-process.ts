import { lookUpWriter } from './look-up-writer.ts'
import { secondTopicWriter } from './second-topic-writer.ts'
import type { ShapeName, ShapeSettings } from './settings.ts'
import { timedWriter } from './timed-writer.ts'

/** What stores records for a shape. Forked with its settings as JSON; tells when it reads. */
const writers: Readonly<Record<ShapeName, (settings: ShapeSettings) => Promise<void>>> = {
  'look-up writer': lookUpWriter,
  'timed writer': timedWriter,
  'second topic': secondTopicWriter,
}
const settings = JSON.parse(process.argv[2] ?? '') as ShapeSettings
process.once('disconnect', () => process.exit(0))
process.send?.({ started: true })
// Whoever started it starts it again, as a container is.
process.on('uncaughtException', error => {
  process.stderr.write(`the writer ends: ${error.message}\n`)
  process.exit(1)
})
await writers[settings.shape](settings)
