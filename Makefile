# make                   builds the programs into build/
# make demo              builds into build-demo/ what it takes to chat with models/tiny here, then starts a chat
# make demo ARGS='-t 0'  passes these options on
# make test              builds, then runs every test
# make clean             removes what was built
#
# CMakeLists.txt is the build; each target is one call of CMake. The chat is started from here, because a Ctrl-C
# would end CMake. It would end the shell too, so that ignores it (the chat does not); and make must have noticed
# it before the shell is gone, or else it complains that it lost a child.
.PHONY: all demo test clean
all:
	@cmake -DMAKE=all -P tests/make.cmake
demo:
	@cmake -DMAKE=demo -P tests/make.cmake </dev/null >&2 && trap '' INT && \
	    { build-demo/qwen600-tiny models/tiny $(ARGS) || { status=$$?; sleep 0.1; test $$status = 130; }; }
test:
	@cmake -DMAKE=test -P tests/make.cmake
clean:
	@cmake -E rm -rf build build-demo
