import { lookUpWriter } from './look-up-writer.ts'
import { secondTopicWriter } from './second-topic-writer.ts'
import type { ShapeName, ShapeSettings } from './settings.ts'
import { timedWriter } from './timed-writer.ts'

/**
 * Writers of the shapes. The process receives its settings as a JSON argument, and sends a message when it is ready.
 */
const writers: Readonly<Record<ShapeName, (settings: ShapeSettings) => Promise<void>>> = {
  'look-up writer': lookUpWriter,
  'timed writer': timedWriter,
  'second topic': secondTopicWriter,
}
const settings = JSON.parse(process.argv[2] ?? '') as ShapeSettings
process.once('disconnect', () => process.exit(0))
process.send?.({ started: true })
// The parent restarts the process, as a container runtime does.
process.on('uncaughtException', error => {
  process.stderr.write(`The writer failed: ${error.message}\n`)
  process.exit(1)
})
await writers[settings.shape](settings)
