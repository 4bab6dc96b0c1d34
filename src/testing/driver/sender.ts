import type { Command } from '../commands/command.js';
import type { Answered, SendOptions } from './connections.js';

export interface Sender {
  send(command: Command, options: SendOptions): Promise<Answered>;
}
