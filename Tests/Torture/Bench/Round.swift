import Foundation
import TestSupport

/// A round: workers are started, disturbed as planned, and waited for.
struct Round {
  /// So long after their time workers may need to close: a full disk is noticed to have room after 30 s,
  /// and closing may wait for the lock twice.
  private static let patience = Moment.seconds(90)

  private let folder: BenchFolder
  private let plan: RoundPlan
  private let began = Moment.now
  private var slots = [Slot]()
  private var actions: [(after: Moment, action: RoundPlan.Action)]
  private var fullDisk: Disturbances.Span?

  /// What is not as it should be.
  private(set) var breaches = [String]()
  /// How many workers were stopped.
  private(set) var stops = 0

  private var until: Moment { self.began + self.plan.length }

  /// - Parameters:
  ///   - plan: What happens.
  ///   - folder: Its folder.
  init(_ plan: RoundPlan, in folder: BenchFolder) {
    (self.plan, self.folder, self.actions) = (plan, folder, plan.actions)
  }

  /// Runs it.
  ///
  /// - Throws: ``Interrupted``; `POSIXError` if a worker cannot be started.
  mutating func run() throws {
    for (number, role) in self.plan.roles.enumerated() {
      self.slots.append(
        try self.folder.slot(role, number, self.plan, until: self.until))
    }
    do {
      while self.slots.contains(where: { $0.child != nil }) {
        if EndSignal.hasCome() { throw Interrupted() }
        try self.step()
        usleep(5_000)
      }
      // Filling takes time on a busy machine, and the workers may have ended meanwhile.
      self.folder.disk?.makeRoom()
    } catch {
      self.endAll()
      throw error
    }
  }

  private mutating func step() throws {
    let now = Moment.now
    let isEnding = now > self.until - .seconds(0.5)
    while let next = self.actions.first, self.began + next.after <= now {
      self.actions.removeFirst()
      if !isEnding { self.perform(next.action, now) }
    }
    if let fullDisk, fullDisk.to <= now || isEnding {
      self.folder.disk?.makeRoom()
      self.folder.disturbances.fullDisks.append(.init(from: fullDisk.from, to: .now))
      self.fullDisk = nil
    }
    for index in self.slots.indices {
      if let stop = self.slots[index].stop, stop.to <= now || isEnding { self.goOn(index) }
      try self.lookAfter(index, isEnding: isEnding)
    }
    if now > self.until + Self.patience { self.giveUp() }
  }
}

// MARK: - Disturbing

extension Round {
  private mutating func perform(_ action: RoundPlan.Action, _ now: Moment) {
    switch action {
    case .kill(let index):
      guard self.slots[index].child != nil, !self.slots[index].isKilled else { return }
      self.slots[index].isKilled = true
      self.folder.disturbances.kills += 1
      self.folder.disturbances.ends[self.slots[index].order.process] = .now
      self.slots[index].child?.kill()
    case .stop(let index, let length):
      guard self.slots[index].child != nil, self.slots[index].stop == nil else { return }
      self.stops += 1
      self.slots[index].stop = .init(from: now, to: now + length)
      self.slots[index].child?.send(SIGSTOP)
    case .jump(let wall, let slept): self.folder.clock.jump(wall: wall, slept: slept)
    case .fill(let length):
      guard let disk = self.folder.disk, self.fullDisk == nil else { return }
      self.fullDisk = .init(from: now, to: now + length)
      disk.fill()
    }
  }

  private mutating func goOn(_ index: Int) {
    guard let stop = self.slots[index].stop else { return }
    self.slots[index].child?.send(SIGCONT)
    self.slots[index].stop = nil
    self.folder.disturbances.stops.append(.init(from: stop.from, to: .now))
  }

  /// Takes note of the end of a worker, and starts another one in the place of a killed one.
  private mutating func lookAfter(_ index: Int, isEnding: Bool) throws {
    guard let end = self.slots[index].child?.endSoFar else { return }
    let slot = self.slots[index]
    self.goOn(index)
    self.slots[index].child = nil
    if slot.isKilled, end == .signal(SIGKILL) {
      if isEnding { return }
      self.slots[index] = try self.folder.slot(
        slot.order.role, index, self.plan, until: self.until)
      return
    }
    if !slot.isKilled { self.folder.disturbances.ends[slot.order.process] = .now }
    if end != .code(0) {
      self.breaches.append("\(slot.order.process), \(slot.order.role), ended by itself: \(end)")
    }
  }
}

// MARK: - Ending

extension Round {
  /// Workers hang: their stacks are written down.
  private mutating func giveUp() {
    for slot in self.slots {
      guard let child = slot.child else { continue }
      self.breaches.append(
        "\(slot.order.process), \(slot.order.role), hangs; see \(self.folder.trace(of: child.pid))")
    }
    self.endAll()
  }

  /// Kills all workers, each by its number, and waits for their ends.
  private mutating func endAll() {
    for slot in self.slots { slot.child?.kill() }
    for index in self.slots.indices {
      _ = self.slots[index].child?.waitUntilEnd()
      self.slots[index].child = nil
    }
  }
}
