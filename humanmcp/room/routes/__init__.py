"""The pages of a room: joining, a learner's own, the teacher's, the wall."""
