import { parentPort } from 'node:worker_threads'
import { serveWork } from '../../platform/work-thread/serve-work.ts'
import { workTable } from './work-table.ts'

// What is imported here is loaded by the thread too: it must open no store, and not the engine.
if (parentPort === null) throw new Error('this is the file of a thread')
serveWork(parentPort, workTable)
